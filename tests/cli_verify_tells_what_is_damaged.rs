//! `seen verify` checks everything and lists all damage.

#[path = "support/program.rs"]
mod support;

use support::{Place, lines, urls};

fn place() -> Place {
    let place = Place::new();
    place.seen(&["new", "s"], lines(&urls(5_000))).quiet(0);
    place.seen(&["compact", "s"], "").quiet(0);
    place
}

#[test]
fn a_sound_store_has_no_damage() {
    let place = place();
    let ran = place.seen(&["verify", "s"], "").quiet(0);
    assert!(
        ran.text().contains("5,000 entries: no damage"),
        "{}",
        ran.text()
    );
}

#[test]
fn a_changed_byte_is_found_with_file_and_place() {
    let place = place();
    let (name, mut bytes) = place
        .files("s")
        .into_iter()
        .filter(|(name, _)| name.ends_with(".seg"))
        .max_by_key(|(_, bytes)| bytes.len())
        .unwrap();
    // In the first block: opening the store does not read it.
    bytes[2_000] ^= 1;
    place.write(&format!("s/{name}"), &bytes);
    let ran = place.seen(&["verify", "s"], "").fails_with("damage");
    assert!(ran.text().contains(&name), "{}", ran.text());
    assert!(ran.text().contains("is damaged at byte"), "{}", ran.text());
}

#[test]
fn a_shortened_file_is_found() {
    let place = place();
    let (name, bytes) = place
        .files("s")
        .into_iter()
        .find(|(name, _)| name.ends_with(".seg"))
        .unwrap();
    place.write(&format!("s/{name}"), &bytes[..bytes.len() / 2]);
    let ran = place.seen(&["verify", "s"], "").fails_with("damage");
    assert!(
        format!("{}{}", ran.text(), ran.err).contains(&name),
        "{ran:?}"
    );
}

#[test]
fn files_that_are_not_the_stores_are_named_and_are_no_damage() {
    let place = place();
    place.write("s/notes.txt", "mine");
    let ran = place.seen(&["verify", "s"], "").quiet(0);
    assert!(ran.text().contains("notes.txt"), "{}", ran.text());
    assert!(ran.text().contains("no damage"), "{}", ran.text());
    assert_eq!(place.read("s/notes.txt"), b"mine");
}
