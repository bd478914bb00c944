//! Values that documents have as texts.

/// Implements the conversions of a type from and to a text, by its `parse` and its `Display`, and its schema. Declares the error of a text
/// that can't be parsed, which says what the text is not and in which form to write it. A type with an error of its own has `FromStr`
/// already.
macro_rules! textual {
    ($type:ident, $error:ident($what:literal, $form:ident), $schema:tt) => {
        #[doc = concat!("Why a text is not ", $what, ".")]
        #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
        #[error("{0:?} is not {what}: write {form}", what = $type::WHAT, form = $form)]
        pub struct $error(String);

        impl $type {
            const WHAT: &'static str = $what;
        }

        impl std::str::FromStr for $type {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text).ok_or_else(|| $error(text.to_owned()))
            }
        }

        $crate::text::textual!($type, $error, $schema);
    };
    ($type:ident, $error:ident, $schema:tt) => {
        impl TryFrom<String> for $type {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

pub(crate) use textual;
