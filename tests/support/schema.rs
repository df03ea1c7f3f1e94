//! A checker of the parts of JSON Schema that this project's schemas use. Any other part is
//! a failure: nothing is left unchecked unnoticed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

use serde_json::{Map, Value};

/// Checks `value`, and gives what is wrong, with its place.
pub(crate) fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "$", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let rules = schema.as_object().unwrap();
    let mut wrong = |what: String| found.push(format!("{at}: {what}: {value}"));
    for (name, rule) in rules {
        match name.as_str() {
            "$schema" | "$defs" | "title" | "description" | "properties" => {}
            "type" => {
                let known = |name: &Value| is_of(value, name.as_str().unwrap());
                let fits = rule
                    .as_array()
                    .map_or_else(|| known(rule), |all| all.iter().any(known));
                if !fits {
                    wrong(format!("is not of type {rule}"));
                }
            }
            "const" if value != rule => wrong(format!("is not {rule}")),
            "enum" if !rule.as_array().unwrap().contains(value) => {
                wrong(format!("is none of {rule}"))
            }
            "const" | "enum" => {}
            "minimum" if value.as_f64().is_some_and(|n| n < rule.as_f64().unwrap()) => {
                wrong(format!("is below {rule}"));
            }
            "maximum" if value.as_f64().is_some_and(|n| n > rule.as_f64().unwrap()) => {
                wrong(format!("is above {rule}"));
            }
            "minimum" | "maximum" => {}
            "required" => {
                for name in rule.as_array().unwrap() {
                    if value
                        .as_object()
                        .is_some_and(|o| !o.contains_key(name.as_str().unwrap()))
                    {
                        wrong(format!("lacks {name}"));
                    }
                }
            }
            "$ref" => {
                let path = rule.as_str().unwrap().strip_prefix('#').unwrap();
                check(root, root.pointer(path).unwrap(), value, at, found);
                return;
            }
            "anyOf" => {
                let fits = |schema: &Value| {
                    let mut found = Vec::new();
                    check(root, schema, value, at, &mut found);
                    found.is_empty()
                };
                if !rule.as_array().unwrap().iter().any(fits) {
                    wrong("fits none of anyOf".to_owned());
                }
            }
            "items" | "additionalProperties" => {}
            other => panic!("the checker does not know {other}"),
        }
    }
    let none = Map::new();
    let properties = rules
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    for (name, value) in value.as_object().unwrap_or(&none) {
        let at = format!("{at}.{name}");
        match (properties.get(name), rules.get("additionalProperties")) {
            (Some(schema), _) => check(root, schema, value, &at, found),
            (None, Some(Value::Bool(false))) => found.push(format!("{at}: is not known")),
            (None, Some(schema @ Value::Object(_))) => check(root, schema, value, &at, found),
            (None, _) => {}
        }
    }
    if let (Some(schema), Some(items)) = (rules.get("items"), value.as_array()) {
        for (place, item) in items.iter().enumerate() {
            check(root, schema, item, &format!("{at}[{place}]"), found);
        }
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("there is no type {other}"),
    }
}
