//! JSON objects whose fields keep their order.

use serde_json::Value;

/// An object in the making.
#[derive(Debug)]
pub(super) struct Object(String);

impl Object {
    pub(super) fn new() -> Object {
        Object("{".to_owned())
    }

    /// Adds a field.
    pub(super) fn field(mut self, name: &str, value: impl Into<Value>) -> Object {
        self.name(name);
        self.0.push_str(&value.into().to_string());
        self
    }

    /// Adds an object as a field.
    pub(super) fn object(mut self, name: &str, value: Object) -> Object {
        self.name(name);
        self.0.push_str(&value.finish());
        self
    }

    /// Adds objects as a field.
    pub(super) fn objects(
        mut self,
        name: &str,
        values: impl IntoIterator<Item = Object>,
    ) -> Object {
        self.name(name);
        let values: Vec<String> = values.into_iter().map(Object::finish).collect();
        self.0.push('[');
        self.0.push_str(&values.join(","));
        self.0.push(']');
        self
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&Value::from(name).to_string());
        self.0.push(':');
    }

    /// The object on one line.
    pub(super) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order() {
        let inner = Object::new().field("z", 1).field("a", "\"\n");
        let text = Object::new()
            .field("url", Value::Null)
            .object("inner", inner)
            .finish();
        assert_eq!(text, r#"{"url":null,"inner":{"z":1,"a":"\"\n"}}"#);
        assert_eq!(Object::new().finish(), "{}");
        let items = [Object::new().field("a", 1), Object::new()];
        let text = Object::new().objects("some", items).objects("none", []);
        assert_eq!(text.finish(), r#"{"some":[{"a":1},{}],"none":[]}"#);
    }
}
