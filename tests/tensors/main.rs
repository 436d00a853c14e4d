//! Tensors and their layouts: declared, read, packed, validated, converted and written.

#[path = "../study/mod.rs"]
mod study;

mod conversion;
mod declarations;
mod groups;
mod levels;
mod nested_formats;
mod packing;
mod packing_intervals;
mod packing_parts;
mod packing_promise;
mod sharing;
mod tensor_files;
mod tensor_files_large;
mod tensor_files_random;
mod validation;
