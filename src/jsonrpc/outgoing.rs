//! Formats JSON-RPC messages as single lines, without the line ending. Ids, params and results are
//! anything that serializes to JSON; each function fails if one of them does not.

use serde::Serialize;
use serde_json::{Error, to_string};

/// Formats a request.
pub fn request(id: impl Serialize, method: &str, params: &impl Serialize) -> Result<String, Error> {
    let (id, params) = (to_string(&id)?, to_string(params)?);
    Ok(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#))
}

/// Formats a notification, which gets no response.
pub fn notification(method: &str, params: &impl Serialize) -> Result<String, Error> {
    let params = to_string(params)?;
    Ok(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#))
}

/// Formats the response to a request that succeeded.
pub fn result(id: impl Serialize, result: &impl Serialize) -> Result<String, Error> {
    let (id, result) = (to_string(&id)?, to_string(result)?);
    Ok(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

/// Formats the response to a request that failed. `error` is an object with `code`, `message` and
/// optionally `data`.
pub fn error(id: impl Serialize, error: &impl Serialize) -> Result<String, Error> {
    let (id, error) = (to_string(&id)?, to_string(error)?);
    Ok(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
}
