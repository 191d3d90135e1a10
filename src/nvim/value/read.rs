//! Deserializes values from Lua. An integer may arrive as a float, an empty table as a list or a map, and text as bytes
//! that are not valid UTF-8; nil fields are missing. An invalid value is refused as a whole, with the path of the
//! field.

use rmpv::Value;
use serde::de::value::StringDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer,
    MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use std::fmt;

/// Deserializes a value.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> Result<T, ReadError> {
    T::deserialize(LuaDeserializer(value))
}

/// Deserializes a message: `name` is a variant of `T`, and the payload is its content.
pub(crate) fn read_message<T: DeserializeOwned>(
    name: &str,
    payload: Value,
) -> Result<T, ReadError> {
    T::deserialize(MessageDeserializer { name, payload })
}

/// What is wrong with a value, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// From the outermost field to the innermost.
    path: Vec<PathSegment>,
    problem: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathSegment {
    Field(String),
    /// Counted from 1, as in Lua.
    Item(usize),
}

impl ReadError {
    /// Creates an error about a field.
    pub(crate) fn of(field: &str, problem: impl Into<String>) -> Self {
        Self { path: vec![PathSegment::Field(field.to_owned())], problem: problem.into() }
    }

    /// Adds the field that the value with the error is in.
    #[must_use]
    pub(crate) fn within(self, field: &str) -> Self {
        self.below(PathSegment::Field(field.to_owned()))
    }

    /// Adds the index, counted from 0, of the list item that the error is in.
    #[must_use]
    pub(crate) fn within_item(self, index: usize) -> Self {
        self.below(PathSegment::Item(index + 1))
    }

    fn below(mut self, step: PathSegment) -> Self {
        self.path.insert(0, step);
        self
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.path.iter().enumerate() {
            match step {
                PathSegment::Field(name) if index == 0 => f.write_str(name)?,
                PathSegment::Field(name) => write!(f, ".{name}")?,
                PathSegment::Item(index) => write!(f, "[{index}]")?,
            }
        }
        let colon = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{colon}{}", self.problem)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self { path: Vec::new(), problem: problem.to_string() }
    }

    /// The value of a text is left out, because it may be secret.
    fn invalid_type(got: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!(
            "expected {}, got {}",
            describe_expected(expected),
            describe_unexpected(got)
        ))
    }

    fn invalid_value(got: Unexpected<'_>, expected: &dyn Expected) -> Self {
        match got {
            Unexpected::Signed(number) => {
                Self::custom(format_args!("{number} is out of range ({expected})"))
            }
            Unexpected::Unsigned(number) => {
                Self::custom(format_args!("{number} is out of range ({expected})"))
            }
            other => Self::invalid_type(other, expected),
        }
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("expected {}, got {length} values", describe_expected(expected)))
    }

    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Self {
        Self::custom(format_args!("expected one of {}, got {variant}", known.join(", ")))
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        Self::of(field, "no such field")
    }

    fn missing_field(field: &'static str) -> Self {
        Self::of(field, "missing")
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::of(field, "is there twice")
    }
}

/// Rewrites what serde expects in plain English.
fn describe_expected(expected: &dyn Expected) -> String {
    let words = expected.to_string();
    match words.as_str() {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" => "an integer",
        "f64" => "a number",
        "a string" | "a byte array" | "path string" => "text",
        "a sequence" => "a list",
        _ if words.starts_with("struct ") || words == "a map" => "a table",
        _ => match words.strip_prefix("a tuple of size ") {
            Some(size) => return format!("a list of {size} values"),
            None => return words,
        },
    }
    .to_owned()
}

fn describe_unexpected(got: Unexpected<'_>) -> String {
    match got {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "an integer",
        Unexpected::Float(number) => return number.to_string(),
        Unexpected::Str(_) | Unexpected::Bytes(_) | Unexpected::Char(_) => "text",
        Unexpected::Map => "a table",
        Unexpected::Seq => "a list",
        Unexpected::Unit | Unexpected::Option => "nil",
        other => return other.to_string(),
    }
    .to_owned()
}

/// A value from Lua.
struct LuaDeserializer(Value);

impl LuaDeserializer {
    fn list<'de, V: Visitor<'de>>(items: Vec<Value>, visitor: V) -> Result<V::Value, ReadError> {
        let mut items = Items { rest: items.into_iter(), count: 0 };
        let value = visitor.visit_seq(&mut items)?;
        match items.rest.len() {
            0 => Ok(value),
            more => {
                let count = items.count + more;
                let words = format!("expected {} values, got {count}", items.count);
                Err(ReadError { path: Vec::new(), problem: words })
            }
        }
    }

    fn table<'de, V: Visitor<'de>>(
        pairs: Vec<(Value, Value)>,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_map(Pairs { rest: pairs.into_iter(), value: None })
    }
}

impl<'de> Deserializer<'de> for LuaDeserializer {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            Value::Nil => visitor.visit_unit(),
            Value::Boolean(flag) => visitor.visit_bool(flag),
            Value::Integer(number) => match number.as_u64() {
                Some(number) => visitor.visit_u64(number),
                None => visitor.visit_i64(number.as_i64().unwrap_or(i64::MIN)),
            },
            Value::F32(number) => float(number.into(), visitor),
            Value::F64(number) => float(number, visitor),
            Value::String(text) => visitor.visit_string(lossy(text.into_bytes())),
            Value::Binary(bytes) => visitor.visit_string(lossy(bytes)),
            Value::Array(items) => Self::list(items, visitor),
            Value::Map(pairs) => Self::table(pairs, visitor),
            Value::Ext(..) => Err(de::Error::custom("is no data but a handle")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            Value::Nil => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            Value::Map(pairs) if pairs.is_empty() => Self::list(Vec::new(), visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            Value::Array(items) if items.is_empty() => Self::table(Vec::new(), visitor),
            // Serde accepts a list for a struct, but none of our messages sends one.
            Value::Array(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_byte_buf(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            // The string is known to be UTF-8, so it is not validated again.
            Value::String(text) if text.is_str() => {
                visitor.visit_string(text.into_str().unwrap_or_default())
            }
            Value::String(text) => visitor.visit_byte_buf(text.into_bytes()),
            Value::Binary(bytes) => visitor.visit_byte_buf(bytes),
            // A list of numbers is not accepted as bytes.
            Value::Array(_) => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.0 {
            Value::String(text) => {
                visitor.visit_enum(IntoDeserializer::into_deserializer(lossy(text.into_bytes())))
            }
            Value::Binary(bytes) => {
                visitor.visit_enum(IntoDeserializer::into_deserializer(lossy(bytes)))
            }
            // Nothing else can be an enum. The visitor's error says what it got instead.
            _ => Err(self.deserialize_any(NotAWord).unwrap_or_else(|error| error)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string unit unit_struct identifier
    }
}

/// Lua may send an integer as a float.
fn float<'de, V: Visitor<'de>>(number: f64, visitor: V) -> Result<V::Value, ReadError> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[allow(clippy::cast_possible_truncation, reason = "it is whole and in range")]
        let whole = number as i64;
        return match u64::try_from(whole) {
            Ok(whole) => visitor.visit_u64(whole),
            Err(_) => visitor.visit_i64(whole),
        };
    }
    visitor.visit_f64(number)
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// A visitor that accepts nothing, used to get the error for a value that should be a word.
struct NotAWord;

impl Visitor<'_> for NotAWord {
    type Value = ReadError;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }
}

struct Items {
    rest: std::vec::IntoIter<Value>,
    count: usize,
}

impl<'de> SeqAccess<'de> for &mut Items {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        let Some(item) = self.rest.next() else { return Ok(None) };
        self.count += 1;
        seed.deserialize(LuaDeserializer(item))
            .map(Some)
            .map_err(|error| error.below(PathSegment::Item(self.count)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Pairs {
    rest: std::vec::IntoIter<(Value, Value)>,
    /// The key that was read last, and its value.
    value: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Pairs {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        let Some((key, value)) = self.rest.by_ref().find(|(_, value)| !value.is_nil()) else {
            return Ok(None);
        };
        let key = match key {
            Value::String(key) => lossy(key.into_bytes()),
            other => return Err(de::Error::custom(format_args!("{other} is no name of a field"))),
        };
        let name: StringDeserializer<ReadError> = key.clone().into_deserializer();
        self.value = Some((key, value));
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let (key, value) = self.value.take().unwrap_or_else(|| (String::new(), Value::Nil));
        seed.deserialize(LuaDeserializer(value))
            .map_err(|error| error.below(PathSegment::Field(key)))
    }
}

/// Deserializes to the enum variant called `name`.
struct MessageDeserializer<'a> {
    name: &'a str,
    payload: Value,
}

impl<'de> Deserializer<'de> for MessageDeserializer<'_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_enum(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for MessageDeserializer<'_> {
    type Error = ReadError;
    type Variant = LuaDeserializer;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, LuaDeserializer), ReadError> {
        let name: StringDeserializer<ReadError> = self.name.to_owned().into_deserializer();
        let no_such = |_| ReadError { path: Vec::new(), problem: "no such message".to_owned() };
        Ok((seed.deserialize(name).map_err(no_such)?, LuaDeserializer(self.payload)))
    }
}

impl<'de> VariantAccess<'de> for LuaDeserializer {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_map(visitor)
    }
}
