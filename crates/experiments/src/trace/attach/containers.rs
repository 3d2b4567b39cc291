//! The processes of a control group or of a container, found through `/proc` and the files of container managers.

use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

/// The group of processes that a control group or a container is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Group {
    /// A directory of the control groups' file system.
    Directory(PathBuf),
    /// A container, by the part of its control group's path that is its own.
    Container { root: PathBuf, component: String },
}

/// Places at which the file systems of control groups are mounted.
const MOUNTS: [&str; 3] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"];
const PROCESSES: &str = "cgroup.procs";
/// Control groups within others are followed so far.
const DEEPEST: usize = 16;
/// The shortest beginning of a container's ID that names it.
const SHORTEST_ID: usize = 4;
/// The length of a container's ID, in hexadecimal digits.
const ID: usize = 64;

impl Group {
    /// Finds a control group, by its directory or by its path in `/proc/PID/cgroup`.
    pub fn of_cgroup(path: &Path) -> Option<Self> {
        let below = |mount: &&str| Path::new(mount).join(path.strip_prefix("/").unwrap_or(path));
        let directories = std::iter::once(path.to_owned()).chain(MOUNTS.iter().map(below));
        { directories }.find(|directory| directory.join(PROCESSES).is_file()).map(Self::Directory)
    }

    /// Finds a container by its name, its ID, or a beginning of its ID. `root` is the root directory of the machine.
    ///
    /// # Errors
    /// No container or several have it: the containers that run.
    pub fn of_container(root: &Path, named: &str) -> Result<Self, Vec<String>> {
        let components = components(root);
        let ids: BTreeSet<&str> = components.iter().map(|component| id_of(component)).collect();
        let named_ids = ids_of_name(root, named);
        let is_hexadecimal = named.len() >= SHORTEST_ID && named.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_it = |id: &&&str| {
            **id == named
                || named_ids.iter().any(|other| other == **id)
                || (is_hexadecimal && id.len() == ID && id.starts_with(named))
        };
        let found: Vec<&&str> = ids.iter().filter(is_it).collect();
        let component = match found[..] {
            [id] => components.iter().find(|component| id_of(component) == *id),
            _ => None,
        };
        match component {
            Some(component) => Ok(Self::Container { root: root.to_owned(), component: component.clone() }),
            None => Err(ids.into_iter().map(str::to_owned).collect()),
        }
    }

    /// Returns the processes that are in it now.
    pub fn processes(&self) -> Vec<u32> {
        match self {
            Self::Directory(directory) => {
                let mut processes = BTreeSet::new();
                collect(directory, DEEPEST, &mut processes);
                processes.into_iter().collect()
            }
            Self::Container { root, component } => {
                let is_in =
                    |pid: &u32| paths(root, *pid).iter().any(|path| path.split('/').any(|part| part == component));
                numbers(root).into_iter().filter(is_in).collect()
            }
        }
    }

    /// Returns whether processes can still come.
    pub fn exists(&self) -> bool {
        match self {
            Self::Directory(directory) => directory.join(PROCESSES).is_file(),
            Self::Container { .. } => true,
        }
    }
}

fn collect(directory: &Path, depth: usize, processes: &mut BTreeSet<u32>) {
    let here = read_to_string(directory.join(PROCESSES)).unwrap_or_default();
    processes.extend(here.lines().filter_map(|line| line.parse::<u32>().ok()));
    let Some(depth) = depth.checked_sub(1) else { return };
    for entry in read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), depth, processes);
        }
    }
}

/// Returns the numbers of all processes.
fn numbers(root: &Path) -> Vec<u32> {
    let entries = read_dir(root.join("proc")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the paths of a process's control groups.
fn paths(root: &Path, pid: u32) -> Vec<String> {
    let text = read_to_string(root.join(format!("proc/{pid}/cgroup"))).unwrap_or_default();
    text.lines().filter_map(|line| Some(line.splitn(3, ':').nth(2)?.to_owned())).collect()
}

/// Returns whether a process is in the control group of a service or of a container, which a manager starts again.
pub fn is_managed(cgroup: &str) -> bool {
    let paths = cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths.flat_map(|path| path.split('/')).any(|part| part.ends_with(".service") || is_container(part))
}

/// Returns the parts of the paths of control groups that are containers' own.
fn components(root: &Path) -> BTreeSet<String> {
    let of = |pid: u32| {
        let paths = paths(root, pid);
        // The innermost one is the container's, or that of a container within.
        let part = |path: &String| path.split('/').rfind(|part| is_container(part)).map(str::to_owned);
        paths.iter().filter_map(part).collect::<Vec<String>>()
    };
    numbers(root).into_iter().flat_map(of).collect()
}

/// What managers write around a container's ID or name.
const PREFIXES: [&str; 6] = ["docker-", "libpod-", "cri-containerd-", "crio-", "lxc.payload.", "machine-"];

fn is_container(part: &str) -> bool {
    let id = id_of(part);
    id.len() == ID && id.bytes().all(|byte| byte.is_ascii_hexdigit())
        || ["lxc.payload.", "machine-"].iter().any(|prefix| part.starts_with(prefix))
}

/// Returns the ID or the name in a part of a path.
fn id_of(part: &str) -> &str {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    PREFIXES.iter().find_map(|prefix| part.strip_prefix(prefix)).unwrap_or(part)
}

/// Returns the IDs that Docker and Podman keep for a name.
fn ids_of_name(root: &Path, name: &str) -> Vec<String> {
    let docker = read_dir(root.join("var/lib/docker/containers")).into_iter().flatten().flatten();
    let docker = docker.filter_map(|entry| {
        let config = read_to_string(entry.path().join("config.v2.json")).ok()?;
        let config: serde_json::Value = serde_json::from_str(&config).ok()?;
        let own = config["Name"].as_str()?.trim_start_matches('/').to_owned();
        (own == name).then(|| entry.file_name().to_string_lossy().into_owned())
    });
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let stores = [root.join("var/lib/containers/storage")].into_iter();
    let stores = stores.chain(home.map(|home| home.join(".local/share/containers/storage")));
    let podman = stores.flat_map(|store| {
        let list = read_to_string(store.join("overlay-containers/containers.json")).unwrap_or_default();
        let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap_or_default();
        let has_name = |one: &serde_json::Value| one["names"].as_array().into_iter().flatten().any(|own| own == name);
        list.into_iter()
            .filter(has_name)
            .filter_map(|one| Some(one["id"].as_str()?.to_owned()))
            .collect::<Vec<String>>()
    });
    docker.chain(podman).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root directory with the files of two containers, one of each manager, and a process outside of them.
    fn machine() -> (tempfile::TempDir, [String; 2]) {
        let root = tempfile::tempdir().unwrap();
        let ids = ["ab12".repeat(16), "ab13".repeat(16)];
        let write = |path: &str, text: &str| {
            let file = root.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("proc/1/cgroup", "0::/init.scope\n");
        write("proc/20/cgroup", &format!("0::/system.slice/docker-{}.scope\n", ids[0]));
        write("proc/21/cgroup", &format!("1:cpu:/\n0::/system.slice/docker-{}.scope/worker\n", ids[0]));
        write("proc/30/cgroup", &format!("0::/machine.slice/libpod-{}.scope/container\n", ids[1]));
        write("proc/40/cgroup", "0::/lxc.payload.box/init.scope\n");
        write(&format!("var/lib/docker/containers/{}/config.v2.json", ids[0]), r#"{"Name":"/web"}"#);
        let list = format!(r#"[{{"id":"{}","names":["db"]}}]"#, ids[1]);
        write("var/lib/containers/storage/overlay-containers/containers.json", &list);
        (root, ids)
    }

    #[test]
    fn container_is_found_by_id_by_its_beginning_and_by_name() {
        let (root, ids) = machine();
        let processes = |named: &str| {
            let mut found = Group::of_container(root.path(), named).map(|group| group.processes());
            found.iter_mut().for_each(|found| found.sort_unstable());
            found
        };
        for named in [&ids[0], "ab12ab", "web"] {
            assert_eq!(processes(named), Ok(vec![20, 21]), "{named}");
        }
        assert_eq!(processes("db"), Ok(vec![30]));
        assert_eq!(processes("box"), Ok(vec![40]));
        // Two have this beginning, and none has that name: the containers that run are named.
        for named in ["ab1", "ab1a", "nothing", "", "init.scope"] {
            let known = processes(named).unwrap_err();
            assert_eq!(known, [ids[0].as_str(), ids[1].as_str(), "box"], "{named}");
        }
    }

    #[test]
    fn services_and_containers_are_managed() {
        let id = "0123".repeat(16);
        assert!(is_managed("0::/system.slice/nginx.service\n") && is_managed(&format!("4:cpu:/docker/{id}\n0::/\n")));
        assert!(
            !is_managed("0::/user.slice/user-0.slice/session-1.scope\n") && !is_managed("0::/\n") && !is_managed("")
        );
    }
}
