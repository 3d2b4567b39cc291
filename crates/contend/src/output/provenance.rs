//! The build of this program, as the build script noted it.

use archive::Build;

pub fn of_this_program() -> Build {
    let noted = |value: &str| Some(value.to_owned()).filter(|value| !value.is_empty());
    Build {
        revision: noted(env!("CONTEND_REVISION")),
        compiler: noted(env!("CONTEND_COMPILER")),
        profile: noted(env!("CONTEND_PROFILE")),
        target: noted(env!("CONTEND_TARGET")),
    }
}
