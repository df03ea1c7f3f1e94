//! The links of an HTML page.

use html5gum::{DefaultEmitter, Token, Tokenizer};
use url::Url;

/// Links taken from one page: with the bound on a URL's length, what a batch can hold.
const MAX_LINKS: usize = 4_000;

/// Where the `a` and `area` elements of a page lead, in order, whatever the scheme.
/// `base` is the page's own address, which a `base` element may replace. What is no URL is
/// left out.
pub(crate) fn links_of(html: &[u8], base: &Url) -> Vec<Url> {
    let mut emitter = DefaultEmitter::default();
    // What looks like a tag in a script is none.
    emitter.naively_switch_states(true);
    let mut base = base.clone();
    let mut based = false;
    let mut links = Vec::new();
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        let Token::StartTag(tag) = token else {
            continue;
        };
        let Some(href) = tag.attributes.get(b"href".as_slice()) else {
            continue;
        };
        let href = String::from_utf8_lossy(href);
        match tag.name.as_slice() {
            b"a" | b"area" if links.len() < MAX_LINKS => links.extend(base.join(&href)),
            // Only the first counts.
            b"base" if !based => {
                based = true;
                base = base.join(&href).unwrap_or(base);
            }
            _ => {}
        }
    }
    links
}
