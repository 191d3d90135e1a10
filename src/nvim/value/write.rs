//! Serializes values for Lua: structs as tables with their field names, unit variants as strings, and variants with
//! content as `{name, payload}`. `None` is left out, because `vim.NIL` and a missing field are different in Lua.

use rmpv::Value;
use serde::Serialize;
use serde::ser::{self, Serializer};
use std::fmt;

/// Serializes a value.
pub(crate) fn write<T: Serialize + ?Sized>(value: &T) -> Value {
    value.serialize(NAMED).unwrap_or_else(|error| {
        tracing::error!(%error, "a message could not be written");
        Value::Nil
    })
}

/// Serializes the fields of a struct as the arguments of a function.
pub(crate) fn arguments<T: Serialize>(call: &T) -> Vec<Value> {
    match call.serialize(LuaSerializer { in_order: true }) {
        Ok(Value::Array(arguments)) => arguments,
        other => {
            tracing::error!(?other, "a call could not be written");
            Vec::new()
        }
    }
}

#[derive(Debug)]
pub(crate) struct WriteError(String);

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WriteError {}

impl ser::Error for WriteError {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self(problem.to_string())
    }
}

type WriteResult = Result<Value, WriteError>;

#[derive(Clone, Copy)]
struct LuaSerializer {
    /// Whether a struct is written as a list of its values, including missing ones.
    in_order: bool,
}

const NAMED: LuaSerializer = LuaSerializer { in_order: false };

impl Serializer for LuaSerializer {
    type Ok = Value;
    type Error = WriteError;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Table;
    type SerializeStruct = Table;
    type SerializeStructVariant = Table;

    fn serialize_bool(self, value: bool) -> WriteResult {
        Ok(value.into())
    }
    fn serialize_i8(self, value: i8) -> WriteResult {
        Ok(value.into())
    }
    fn serialize_i16(self, value: i16) -> WriteResult {
        Ok(value.into())
    }
    fn serialize_i32(self, value: i32) -> WriteResult {
        Ok(value.into())
    }
    fn serialize_i64(self, value: i64) -> WriteResult {
        Ok(value.into())
    }
    fn serialize_u8(self, value: u8) -> WriteResult {
        Ok(value.into())
    }
    fn serialize_u16(self, value: u16) -> WriteResult {
        Ok(value.into())
    }
    fn serialize_u32(self, value: u32) -> WriteResult {
        Ok(value.into())
    }
    fn serialize_u64(self, value: u64) -> WriteResult {
        Ok(value.into())
    }
    fn serialize_f32(self, value: f32) -> WriteResult {
        Ok(value.into())
    }
    fn serialize_f64(self, value: f64) -> WriteResult {
        Ok(value.into())
    }
    fn serialize_char(self, value: char) -> WriteResult {
        Ok(value.to_string().into())
    }
    fn serialize_str(self, value: &str) -> WriteResult {
        Ok(value.into())
    }
    fn serialize_bytes(self, value: &[u8]) -> WriteResult {
        Ok(Value::Binary(value.to_vec()))
    }
    fn serialize_none(self) -> WriteResult {
        Ok(Value::Nil)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> WriteResult {
        value.serialize(NAMED)
    }
    fn serialize_unit(self) -> WriteResult {
        Ok(Value::Nil)
    }
    fn serialize_unit_struct(self, _: &'static str) -> WriteResult {
        Ok(Value::Map(Vec::new()))
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> WriteResult {
        Ok(variant.into())
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        it: &T,
    ) -> WriteResult {
        it.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> WriteResult {
        Ok(Value::Array(vec![variant.into(), value.serialize(NAMED)?]))
    }
    fn serialize_seq(self, length: Option<usize>) -> Result<Items, WriteError> {
        Ok(Items(Vec::with_capacity(length.unwrap_or_default())))
    }
    fn serialize_tuple(self, length: usize) -> Result<Items, WriteError> {
        self.serialize_seq(Some(length))
    }
    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Items, WriteError> {
        self.serialize_seq(Some(length))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Items, WriteError> {
        let mut items = Vec::with_capacity(length + 1);
        items.push(variant.into());
        Ok(Items(items))
    }
    fn serialize_map(self, length: Option<usize>) -> Result<Table, WriteError> {
        let written = Vec::with_capacity(length.unwrap_or_default());
        Ok(Table { written, key: Value::Nil, in_order: self.in_order })
    }
    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Table, WriteError> {
        self.serialize_map(Some(length))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Table, WriteError> {
        Err(ser::Error::custom(format_args!("{variant} has to be a struct of its own")))
    }
}

pub(crate) struct Items(Vec<Value>);

macro_rules! items {
    ($($name:ident::$add:ident),*) => {$(
        impl ser::$name for Items {
            type Ok = Value;
            type Error = WriteError;

            fn $add<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), WriteError> {
                self.0.push(item.serialize(NAMED)?);
                Ok(())
            }

            fn end(self) -> WriteResult {
                Ok(Value::Array(self.0))
            }
        }
    )*};
}
items!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

pub(crate) struct Table {
    written: Vec<(Value, Value)>,
    key: Value,
    in_order: bool,
}

impl Table {
    fn add(&mut self, key: Value, value: Value) {
        if self.in_order || !value.is_nil() {
            self.written.push((key, value));
        }
    }

    fn finished(self) -> Value {
        if self.in_order {
            Value::Array(self.written.into_iter().map(|(_, value)| value).collect())
        } else {
            Value::Map(self.written)
        }
    }
}

impl ser::SerializeMap for Table {
    type Ok = Value;
    type Error = WriteError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), WriteError> {
        self.key = key.serialize(NAMED)?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
        let key = std::mem::replace(&mut self.key, Value::Nil);
        self.add(key, value.serialize(NAMED)?);
        Ok(())
    }

    fn end(self) -> WriteResult {
        Ok(self.finished())
    }
}

macro_rules! fields {
    ($($name:ident),*) => {$(
        impl ser::$name for Table {
            type Ok = Value;
            type Error = WriteError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), WriteError> {
                self.add(name.into(), value.serialize(NAMED)?);
                Ok(())
            }

            fn end(self) -> WriteResult {
                Ok(self.finished())
            }
        }
    )*};
}
fields!(SerializeStruct, SerializeStructVariant);
