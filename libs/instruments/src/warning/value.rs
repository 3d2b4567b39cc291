//! A warning of any kind, as a record contains it; its severity, and the trait of the kinds.

use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Something that may have bent a figure, or that the figure cannot tell.
///
/// In a record it is an object: its code, the fields of its kind, its message and its remedy. One that is read back is
/// what it was when it was recorded, whatever this version would say, and whether or not it knows that kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    code: Cow<'static, str>,
    fields: Map<String, Value>,
    message: String,
    remedy: String,
    /// `None` for one that is read back and has none.
    severity: Option<Severity>,
}

impl Warning {
    /// The name that it has in a record, for programs to tell warnings apart by.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The observation, with its values: one sentence without a full stop.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The remedy: a flag, a file, a capability; or how to read the values if there is none.
    pub fn remedy(&self) -> &str {
        &self.remedy
    }

    /// How much it matters.
    pub fn severity(&self) -> Severity {
        self.severity.unwrap_or_default()
    }

    /// One of its fields, if it has it.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    /// Whether it is of this kind.
    pub fn is<K: WarningKind>(&self) -> bool {
        self.code == K::CODE
    }
}

impl<K: WarningKind> From<K> for Warning {
    /// # Panics
    /// If the kind is not a struct with named fields, or without any.
    fn from(kind: K) -> Self {
        let fields = match serde_json::to_value(&kind) {
            Ok(Value::Object(fields)) => fields,
            Ok(Value::Null) => Map::new(),
            other => panic!("the kind of warning {} is not a struct with named fields: {other:?}", K::CODE),
        };
        Self {
            code: Cow::Borrowed(K::CODE),
            fields,
            message: kind.message(),
            remedy: kind.remedy().to_owned(),
            severity: Some(K::SEVERITY),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Warning {
    fn schema_name() -> Cow<'static, str> {
        "Warning".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let text = |description: &str| schemars::json_schema!({"description": description, "type": "string"});
        schemars::json_schema!({
            "description": "A limitation of the results. In addition to these fields, it has those of its kind.",
            "type": "object",
            "properties": {
                "code": text("Its kind, for programs."),
                "message": text("The observation, with its values."),
                "remedy": text("An action that removes the cause."),
                "severity": {
                    "description": "Whether it changes a result, limits a conclusion, or is advice.",
                    "enum": ["changes_figure", "limits_conclusion", "advice"]
                },
            },
            "required": ["code", "message", "remedy"]
        })
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.fields.len() + 4))?;
        object.serialize_entry("code", &self.code)?;
        for (name, value) in &self.fields {
            object.serialize_entry(name, value)?;
        }
        object.serialize_entry("message", &self.message)?;
        object.serialize_entry("remedy", &self.remedy)?;
        if let Some(severity) = self.severity {
            object.serialize_entry("severity", &severity)?;
        }
        object.end()
    }
}

impl<'de> Deserialize<'de> for Warning {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        // Not `remove`, which puts the last field into the place of the one that goes.
        let mut text = |name: &str| match fields.shift_remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let code = text("code").ok_or_else(|| D::Error::missing_field("code"))?;
        let message = text("message").unwrap_or_else(|| format!("warning `{code}` of another version"));
        let remedy = text("remedy").unwrap_or_else(|| "not recorded".to_owned());
        // One that is not known here stays a field.
        let severity = fields.get("severity").and_then(|value| Severity::deserialize(value).ok());
        if severity.is_some() {
            fields.shift_remove("severity");
        }
        Ok(Self { code: Cow::Owned(code), fields, message, remedy, severity })
    }
}

/// A kind of warning: a struct whose fields are the warning's, with its code and its two texts.
///
/// ```
/// use instruments::warning::{Warning, WarningKind};
/// use serde::Serialize;
///
/// /// The lock under test was never contended.
/// #[derive(Serialize)]
/// struct NeverContended {
///     /// How often it was taken.
///     rounds: u64,
/// }
///
/// impl WarningKind for NeverContended {
///     const CODE: &'static str = "never_contended";
///
///     fn message(&self) -> String {
///         format!("the lock was free in all {} rounds", self.rounds)
///     }
///
///     fn remedy(&self) -> &'static str {
///         "use more --threads"
///     }
/// }
///
/// let warning = Warning::from(NeverContended { rounds: 17 });
/// assert!(warning.is::<NeverContended>());
/// ```
pub trait WarningKind: Serialize {
    /// The name that it has in a record, for programs to tell warnings apart by. Nothing else may have it, in any
    /// crate.
    const CODE: &'static str;
    /// How much it matters.
    const SEVERITY: Severity = Severity::LimitsConclusion;

    /// The observation, with its values: one sentence without a full stop.
    fn message(&self) -> String;

    /// The remedy: a flag, a file, a capability; or how to read the values if there is none.
    fn remedy(&self) -> &'static str;
}

/// A share in 0..1, for a message.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// The most serious first, which is the order of printing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A figure is not what it would be without it.
    ChangesFigure,
    /// The values are right, but incomplete.
    #[default]
    LimitsConclusion,
    /// Something that could be better, and changes no figure here.
    Advice,
}
