//! A warning of any kind, as a record contains it; its severity, and the trait of the kinds.

use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A possible distortion of a value, or a limit of its meaning.
///
/// In a record it is an object: its code, the fields of its kind, its message and its remedy. A warning from a record
/// stays as it was recorded, even if this version would word it differently or does not know its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    code: Cow<'static, str>,
    fields: Map<String, Value>,
    message: String,
    remedy: String,
    /// `None` for a recorded warning without one.
    severity: Option<Severity>,
}

impl Warning {
    /// Returns its code in a record, by which programs distinguish warnings.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Returns the observation, with its values: one sentence without a full stop.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the remedy: a flag, a file, a capability; or how to interpret the values if there is none.
    pub fn remedy(&self) -> &str {
        &self.remedy
    }

    /// Returns its severity.
    pub fn severity(&self) -> Severity {
        self.severity.unwrap_or_default()
    }

    /// Returns one of its fields, if it exists.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    /// Returns whether it is of this kind.
    pub fn is<K: WarningKind>(&self) -> bool {
        self.code == K::CODE
    }
}

impl<K: WarningKind> From<K> for Warning {
    /// Converts a kind into a warning.
    ///
    /// # Panics
    ///
    /// Panics if the kind is not a struct with named fields, or a struct without fields.
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
            severity: Some(kind.severity()),
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
        // Not `remove`, which moves the last field into the place of the removed one.
        let mut text = |name: &str| match fields.shift_remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let code = text("code").ok_or_else(|| D::Error::missing_field("code"))?;
        let message = text("message").unwrap_or_else(|| format!("warning `{code}` of another version"));
        let remedy = text("remedy").unwrap_or_else(|| "not recorded".to_owned());
        // An unknown severity remains a field.
        let severity = fields.get("severity").and_then(|value| Severity::deserialize(value).ok());
        if severity.is_some() {
            fields.shift_remove("severity");
        }
        Ok(Self { code: Cow::Owned(code), fields, message, remedy, severity })
    }
}

/// A kind of warning: a struct whose fields are those of the warning, with its code and its two texts.
///
/// # Examples
///
/// ```
/// use instruments::warning::{Warning, WarningKind};
/// use serde::Serialize;
///
/// /// The lock under test was never contended.
/// #[derive(Serialize)]
/// struct NeverContended {
///     /// Number of iterations.
///     iterations: u64,
/// }
///
/// impl WarningKind for NeverContended {
///     const CODE: &'static str = "never_contended";
///
///     fn message(&self) -> String {
///         format!("the lock was uncontended in all {} iterations", self.iterations)
///     }
///
///     fn remedy(&self) -> &'static str {
///         "use more --threads"
///     }
/// }
///
/// let warning = Warning::from(NeverContended { iterations: 17 });
/// assert!(warning.is::<NeverContended>());
/// ```
pub trait WarningKind: Serialize {
    /// Code in a record, by which programs distinguish warnings; it must be unique in all crates.
    const CODE: &'static str;
    /// Severity.
    const SEVERITY: Severity = Severity::LimitsConclusion;

    /// Returns the observation, with its values: one sentence without a full stop.
    fn message(&self) -> String;

    /// Returns the remedy: a flag, a file, a capability; or how to interpret the values if there is none.
    fn remedy(&self) -> &'static str;

    /// Returns the severity of this warning, where that depends on its values.
    fn severity(&self) -> Severity {
        Self::SEVERITY
    }
}

/// Severity of a warning. The most serious is first, which is the order of printing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A value differs from the one without the reported condition.
    ChangesFigure,
    /// The values are correct, but incomplete.
    #[default]
    LimitsConclusion,
    /// A possible improvement that changes no value here.
    Advice,
}
