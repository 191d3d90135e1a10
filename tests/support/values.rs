//! JSON to and from msgpack, so that tests speak one language to Neovim and to agents.

use rmpv::Value;
use serde_json::{Map, Number, Value as Json};

/// As msgpack.
pub fn to_msgpack(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => number
            .as_i64()
            .map(Value::from)
            .or_else(|| number.as_u64().map(Value::from))
            .or_else(|| number.as_f64().map(Value::from))
            .unwrap_or(Value::Nil),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::Array(items.iter().map(to_msgpack).collect()),
        Json::Object(fields) => Value::Map(
            fields.iter().map(|(key, value)| (key.as_str().into(), to_msgpack(value))).collect(),
        ),
    }
}

/// As JSON: bytes that are not UTF-8 are replaced, a handle of a buffer, window or tab page is its number.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Boolean(value) => Json::Bool(*value),
        Value::Integer(number) => number
            .as_i64()
            .map(Number::from)
            .or_else(|| number.as_u64().map(Number::from))
            .map_or(Json::Null, Json::Number),
        Value::F32(number) => Json::from(*number),
        Value::F64(number) => Json::from(*number),
        Value::String(text) => Json::String(String::from_utf8_lossy(text.as_bytes()).into_owned()),
        Value::Binary(bytes) => Json::String(String::from_utf8_lossy(bytes).into_owned()),
        Value::Array(items) => Json::Array(items.iter().map(to_json).collect()),
        Value::Map(fields) => Json::Object(fields.iter().map(field).collect::<Map<_, _>>()),
        Value::Ext(_, bytes) => rmpv::decode::read_value(&mut bytes.as_slice())
            .map_or(Json::Null, |number| to_json(&number)),
    }
}

fn field((key, value): &(Value, Value)) -> (String, Json) {
    (key.as_str().map_or_else(|| key.to_string(), str::to_owned), to_json(value))
}
