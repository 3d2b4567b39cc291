//! What no build but that of the tests has. Tests may look at everything, so they are left out.

use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Meta, Token};

pub fn only_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let conditional = attribute.path().is_ident("cfg");
        let condition = attribute.meta.require_list().ok().filter(|_| conditional);
        let never = condition.and_then(|list| list.parse_args().ok()).is_some_and(|meta| holds(&meta) == Some(false));
        never || attribute.path().is_ident("test")
    })
}

pub fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(name))
}

/// Whether a condition holds in a build without tests; `None` where that depends on the build.
fn holds(condition: &Meta) -> Option<bool> {
    match condition {
        Meta::Path(path) => (path.is_ident("test") || path.is_ident("doctest")).then_some(false),
        Meta::NameValue(_) => None,
        Meta::List(list) => {
            let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
            let parts: Vec<Option<bool>> = parts.iter().map(holds).collect();
            let decided = |by: bool| {
                let all_others = parts.iter().all(|part| *part == Some(!by));
                if parts.contains(&Some(by)) { Some(by) } else { all_others.then_some(!by) }
            };
            match () {
                () if list.path.is_ident("all") => decided(false),
                () if list.path.is_ident("any") => decided(true),
                () if list.path.is_ident("not") => parts.first().copied().flatten().map(|part| !part),
                () => None,
            }
        }
    }
}

pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
