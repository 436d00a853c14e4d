//! The entries for C: one that checks, one that does not.

use super::indent::indent;
use super::signature::Signature;
use crate::iterspace::Role;

/// `entry` is the name of the unchecked entry; the checking one ends in `_checked`.
pub(super) fn items(signature: &Signature, entry: &str) -> String {
    let names: Vec<&str> = signature.tensors.iter().map(|t| t.argument.as_str()).collect();
    let mut bindings = String::new();
    let (mut size, mut array) = (0, 0);
    for t in &signature.tensors {
        let mutable = t.role == Role::Output;
        let binding = if mutable { "let mut" } else { "let" };
        bindings.push_str(&format!("{binding} {} = {} {{\n", t.argument, t.struct_name()));
        let dims: Vec<String> =
            (0..t.layout.rank()).map(|d| format!("*sizes.add({})", size + d)).collect();
        size += t.layout.rank();
        bindings.push_str(&format!("dims: [{}],\n", dims.join(", ")));
        for (_, field, _) in &t.counts {
            bindings.push_str(&format!("{field}: *sizes.add({size}),\n"));
            size += 1;
        }
        for a in &t.arrays {
            bindings.push_str(&format!("{}: slice(*arrays.add({array})),\n", a.field));
            array += 1;
        }
        let slice = if mutable { "slice_mut" } else { "slice" };
        bindings.push_str(&format!("{}: {slice}(*arrays.add({array})),\n}};\n", t.values.field));
        array += 1;
    }
    let mut passed: Vec<String> = signature
        .tensors
        .iter()
        .map(|t| match t.role {
            Role::Output => format!("&mut {}", t.argument),
            Role::Input => format!("&{}", t.argument),
        })
        .collect();
    for _ in 0..signature.extents.len() + usize::from(signature.threads) {
        passed.push(format!("*sizes.add({size})"));
        size += 1;
    }
    let passed = passed.join(", ");
    let call = |function: &str| match format!("{function}({passed})") {
        flat if flat.len() <= 80 => flat,
        _ => format!("{function}(\n{},\n)", passed.replace(", ", ",\n")),
    };
    let tensors = names.join(", ");
    // Scalars have no sizes.
    let sizes = if size == 0 { "_sizes" } else { "sizes" };
    let mut out = format!(
        "/// A borrowed array across the C boundary.\n\
         #[repr(C)]\n#[derive(Clone, Copy)]\n\
         pub struct RawArray {{\n\
         pub data: *mut u8,\n\
         /// Number of elements.\n\
         pub len: usize,\n}}\n\n\
         /// [`kernel_unchecked`] for C. For each tensor ({tensors}): `sizes` holds its dimensions and\n\
         /// counted sizes, `arrays` its index arrays and its values.\n\
         ///\n/// # Safety\n/// As for [`kernel_unchecked`]; every array has the element type of its \
         field.\n\
         #[unsafe(no_mangle)]\n\
         #[allow(non_snake_case)]\n\
         pub unsafe extern \"C\" fn {entry}({sizes}: *const usize, arrays: *const RawArray) {{\n\
         unsafe {{\n{bindings}{};\n}}\n}}\n\n",
        call("kernel_unchecked")
    );
    out.push_str(&format!(
        "/// [`kernel`] for C: 0 if it ran, 1 if a tensor was refused.\n\
         ///\n/// # Safety\n/// `sizes` and `arrays` are as long as the signature says; every array \
         has the length that it\n/// claims and the element type of its field.\n\
         #[unsafe(no_mangle)]\n\
         #[allow(non_snake_case)]\n\
         pub unsafe extern \"C\" fn {entry}_checked({sizes}: *const usize, arrays: *const RawArray) \
         -> i32 {{\nunsafe {{\n{bindings}i32::from({}.is_err())\n}}\n}}\n\n",
        call("kernel")
    ));
    let reads = signature.tensors.iter().any(|t| t.role == Role::Input || !t.arrays.is_empty());
    if reads {
        out.push_str(
            "unsafe fn slice<'a, T>(raw: RawArray) -> &'a [T] {\n\
             if raw.len == 0 {\nreturn &[];\n}\n\
             // SAFETY: the caller of the entry says so.\n\
             unsafe { std::slice::from_raw_parts(raw.data.cast(), raw.len) }\n}\n\n",
        );
    }
    out.push_str(
        "unsafe fn slice_mut<'a, T>(raw: RawArray) -> &'a mut [T] {\n\
         if raw.len == 0 {\nreturn &mut [];\n}\n\
         // SAFETY: the caller of the entry says so.\n\
         unsafe { std::slice::from_raw_parts_mut(raw.data.cast(), raw.len) }\n}\n",
    );
    indent(&out)
}
