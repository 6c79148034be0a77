//! Tests `hetdwarf dap` with a client of the Debug Adapter Protocol.

#[path = "dap/client.rs"]
mod client;
#[path = "dap/code.rs"]
mod code;
#[path = "dap/console.rs"]
mod console;
#[path = "dap/editor.rs"]
mod editor;
#[path = "dap/formats.rs"]
mod formats;
#[path = "dap/lost.rs"]
mod lost;
#[path = "dap/requests.rs"]
mod requests;
#[path = "dap/scale.rs"]
mod scale;
#[path = "dap/sessions.rs"]
mod sessions;
#[path = "dap/values.rs"]
mod values;
