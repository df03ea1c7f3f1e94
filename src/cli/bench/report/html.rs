//! Pieces of a page that a screen reader can read too.

use super::canvas::WIDTH;
use super::charts::Chart;
use std::fmt::Write;

/// Text as HTML.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A table: what is in it, the names of its columns, and rows that begin with their name.
pub(super) struct Table {
    pub(super) caption: String,
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// It scrolls where it is wider than the page.
    pub(super) fn html(&self) -> String {
        let caption = escape(&self.caption);
        // Who uses the keyboard can scroll it too.
        let mut html = format!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\"><table><caption>{caption}</caption><thead><tr>"
        );
        // Writing to a string does not fail.
        for column in &self.columns {
            let _ = write!(html, "<th scope=\"col\">{}</th>", escape(column));
        }
        html.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            html.push_str("<tr>");
            for (place, cell) in row.iter().enumerate() {
                let cell = escape(cell);
                let _ = match place {
                    0 => write!(html, "<th scope=\"row\">{cell}</th>"),
                    _ => write!(html, "<td>{cell}</td>"),
                };
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody></table></div>\n");
        html
    }
}

/// A table of names and values.
pub(super) fn pairs(caption: &str, rows: &[(&str, String)]) -> String {
    let mut html = format!(
        "<table class=\"pairs\"><caption>{}</caption><tbody>",
        escape(caption)
    );
    for (name, value) in rows {
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
            escape(name),
            escape(value)
        );
    }
    html.push_str("</tbody></table>\n");
    html
}

/// A chart in a section of its own, with its numbers.
pub(super) struct Figure {
    /// Names its parts; unique in the page.
    pub(super) id: &'static str,
    pub(super) title: String,
    pub(super) text: &'static str,
    /// What a reader who cannot see it is told.
    pub(super) description: String,
    pub(super) chart: Chart,
    pub(super) table: Table,
}

impl Figure {
    pub(super) fn html(&self) -> String {
        let Figure { id, text, .. } = self;
        format!(
            "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n<p>{text}</p>\n\
             <figure><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
             <title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>{svg}</svg></figure>\n\
             <details><summary>The numbers</summary>\n{table}</details>\n</section>\n",
            title = escape(&self.title),
            text = escape(text),
            description = escape(&self.description),
            height = self.chart.height,
            svg = self.chart.svg,
            table = self.table.html(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let text = "<script>\"x\" & 'y'</script>";
        let escaped = "&lt;script&gt;&quot;x&quot; &amp; &#39;y&#39;&lt;/script&gt;";
        assert_eq!(escape(text), escaped);
        let table = Table {
            caption: text.to_owned(),
            columns: vec!["a"],
            rows: vec![vec![text.to_owned(), text.to_owned()]],
        };
        assert!(!table.html().contains("<script"));
        assert!(!pairs(text, &[("a", text.to_owned())]).contains("<script"));
    }
}
