//! The kernel's surroundings: memory, hypervisor, container.

use crate::cpus::cgroup::CpuGroup;
use crate::cpus::files;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The kernel's surroundings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// Memory of the machine, in MiB.
    pub memory_mib: Option<u64>,
    /// Hypervisor of this virtual machine (`KVM`, `VMware`, …, or `unknown`); `None` on bare metal.
    pub hypervisor: Option<String>,
    /// Kind of container (`docker`, `podman`, `lxc`, …) suggested by the traces that container managers leave in the
    /// file system. A virtual machine started from a container image has them too. `None` if there are none.
    pub container_hint: Option<String>,
}

impl Host {
    pub(super) fn read(root: &Path) -> Self {
        Self {
            memory_mib: files::text(root, "proc/meminfo").and_then(|text| parse_memory_mib(&text)),
            hypervisor: read_hypervisor(root),
            container_hint: read_container(root),
        }
    }
}

fn parse_memory_mib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? / 1024)
}

/// Returns the hypervisor by its own signature, or `None` on bare metal.
#[cfg(target_arch = "x86_64")]
pub(super) fn cpuid_hypervisor() -> Option<String> {
    use std::arch::x86_64::__cpuid;

    /// Bit of ECX in leaf 1, which every hypervisor sets and no processor does.
    const HYPERVISOR_PRESENT: u32 = 1 << 31;
    /// First of the leaves that Intel and AMD reserve for hypervisors: its registers contain the signature.
    const HYPERVISOR_LEAF: u32 = 0x4000_0000;

    if __cpuid(1).ecx & HYPERVISOR_PRESENT == 0 {
        return None;
    }
    let leaf = __cpuid(HYPERVISOR_LEAF);
    let signature: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_le_bytes).collect();
    Some(hypervisor_named(&signature))
}

/// Returns `None`: other architectures have no such instruction, so only files provide the hypervisor.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn cpuid_hypervisor() -> Option<String> {
    None
}

/// Returns the usual name for a signature; an unknown signature is its own name, and an empty one is `unknown`.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
fn hypervisor_named(signature: &[u8]) -> String {
    let text = String::from_utf8_lossy(signature);
    let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    let name = match text {
        "KVMKVMKVM" | "Linux KVM Hv" => "KVM",
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "XenVMMXenVMM" => "Xen",
        "VBoxVBoxVBox" => "VirtualBox",
        "TCGTCGTCGTCG" => "QEMU without KVM",
        "bhyve bhyve" => "bhyve",
        "ACRNACRNACRN" => "ACRN",
        "prl hyperv" | "lrpepyh  vr" => "Parallels",
        "" => "unknown",
        other => other,
    };
    name.to_owned()
}

/// Returns the hypervisor from files: Xen's own, Arm's device tree, the firmware's tables, and last a bare flag.
fn read_hypervisor(root: &Path) -> Option<String> {
    if let Some(kind) = files::word(root, "sys/hypervisor/type") {
        return Some(if kind == "xen" { "Xen".to_owned() } else { kind });
    }
    if let Some(compatible) = files::word(root, "proc/device-tree/hypervisor/compatible") {
        let kvm = compatible.contains("kvm");
        return Some(if kvm { "KVM".to_owned() } else { compatible });
    }
    let vendor = files::word(root, "sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let product = files::word(root, "sys/class/dmi/id/product_name").unwrap_or_default();
    hypervisor_from_firmware(&vendor, &product).map(str::to_owned).or_else(|| {
        let cpuinfo = files::text(root, "proc/cpuinfo")?;
        has_hypervisor_flag(&cpuinfo).then(|| "unknown".to_owned())
    })
}

/// Returns the hypervisor of well-known clouds and emulators by the names in their firmware.
fn hypervisor_from_firmware(vendor: &str, product: &str) -> Option<&'static str> {
    match (vendor, product) {
        // Amazon offers bare-metal machines under the same vendor name.
        ("Amazon EC2", product) => (!product.contains("metal")).then_some("KVM"),
        ("QEMU" | "Google", _) | (_, "KVM" | "Google Compute Engine") => Some("KVM"),
        ("VMware, Inc.", _) => Some("VMware"),
        ("Microsoft Corporation", "Virtual Machine") => Some("Hyper-V"),
        ("Xen", _) => Some("Xen"),
        (_, "VirtualBox") => Some("VirtualBox"),
        _ => None,
    }
}

fn has_hypervisor_flag(cpuinfo: &str) -> bool {
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags")).flat_map(str::split_whitespace);
    flags.any(|flag| flag == "hypervisor")
}

/// Returns the container by the traces that container managers leave, explicit ones first.
fn read_container(root: &Path) -> Option<String> {
    if let Some(name) = files::word(root, "run/systemd/container") {
        return Some(name);
    }
    if root.join("run/.containerenv").exists() {
        return Some("podman".to_owned());
    }
    if root.join(".dockerenv").exists() {
        return Some("docker".to_owned());
    }
    container_from_cgroup(&files::text(root, "proc/self/cgroup")?).map(str::to_owned)
}

fn container_from_cgroup(groups: &str) -> Option<&'static str> {
    let marks = [
        ("kubepods", "kubernetes"),
        ("/docker", "docker"),
        ("libpod", "podman"),
        ("/lxc", "lxc"),
        ("containerd", "containerd"),
    ];
    marks.iter().find(|(mark, _)| groups.contains(mark)).map(|(_, name)| *name)
}

// The resource limits of this process: its control group's CPU time, real-time priority, locked memory.

/// The resource limits of this process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Version of the control groups that limit its CPU time: 1 or 2.
    pub cgroup_version: Option<u8>,
    /// Number of CPUs whose time the control groups grant; `None` is without limit.
    pub cpu_quota_cpus: Option<f64>,
    /// Weight of its group relative to sibling groups (version 2; 100 by default).
    pub cpu_weight: Option<u64>,
    /// Shares of its group relative to sibling groups (version 1; 1,024 by default).
    pub cpu_shares: Option<u64>,
    /// Highest real-time priority that it may use without CAP_SYS_NICE (RLIMIT_RTPRIO).
    pub realtime_priority_max: Option<u64>,
    /// Memory that it may lock, in KiB (RLIMIT_MEMLOCK); `None` is without limit.
    pub locked_memory_kib: Option<u64>,
}

impl Limits {
    pub(super) fn read(root: &Path) -> Self {
        let group = CpuGroup::find(root);
        let limits = files::text(root, "proc/self/limits").unwrap_or_default();
        Self {
            cgroup_version: group.as_ref().map(|group| group.version),
            cpu_quota_cpus: group.as_ref().and_then(CpuGroup::quota_cpus),
            cpu_weight: group.as_ref().and_then(CpuGroup::weight),
            cpu_shares: group.as_ref().and_then(CpuGroup::shares),
            realtime_priority_max: soft_limit(&limits, "Max realtime priority"),
            locked_memory_kib: soft_limit(&limits, "Max locked memory").map(|bytes| bytes / 1024),
        }
    }
}

/// Returns the first number after the limit's name; `unlimited` is `None`.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_in_mib() {
        assert_eq!(parse_memory_mib("MemTotal:       24669700 kB\nMemFree: 1 kB\n"), Some(24_091));
        assert_eq!(parse_memory_mib(""), None);
    }

    #[test]
    fn signatures_have_names() {
        assert_eq!(hypervisor_named(b"KVMKVMKVM\0\0\0"), "KVM");
        assert_eq!(hypervisor_named(b"Microsoft Hv"), "Hyper-V");
        assert_eq!(hypervisor_named(b" lrpepyh  vr"), "Parallels");
        assert_eq!(hypervisor_named(b"NewOneNewOne"), "NewOneNewOne");
        assert_eq!(hypervisor_named(&[0; 12]), "unknown");
    }

    #[test]
    fn firmware_distinguishes_clouds_from_bare_machines() {
        assert_eq!(hypervisor_from_firmware("Amazon EC2", "c7g.large"), Some("KVM"));
        assert_eq!(hypervisor_from_firmware("Amazon EC2", "c7g.metal"), None);
        assert_eq!(hypervisor_from_firmware("Microsoft Corporation", "Surface Laptop"), None);
        assert_eq!(hypervisor_from_firmware("Dell Inc.", "PowerEdge R650"), None);
    }

    #[test]
    fn groups_identify_containers() {
        assert_eq!(
            container_from_cgroup("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-2"),
            Some("kubernetes")
        );
        assert_eq!(container_from_cgroup("2:cpu:/docker/4fd1"), Some("docker"));
        assert_eq!(container_from_cgroup("0::/user.slice/user-1000.slice/session-2.scope"), None);
    }

    #[test]
    fn the_flag_is_not_a_part_of_another() {
        assert!(has_hypervisor_flag("flags\t: fpu hypervisor lahf_lm"));
        assert!(!has_hypervisor_flag("flags\t: fpu hypervisors\nbugs : hypervisor"));
    }

    const LIMITS: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
        Max cpu time              unlimited            unlimited            seconds   \n\
        Max locked memory         8388608              unlimited            bytes     \n\
        Max realtime priority     0                    99                             \n";

    #[test]
    fn soft_limit_is_read() {
        assert_eq!(soft_limit(LIMITS, "Max locked memory"), Some(8_388_608));
        assert_eq!(soft_limit(LIMITS, "Max realtime priority"), Some(0));
        assert_eq!(soft_limit(LIMITS, "Max cpu time"), None);
        assert_eq!(soft_limit(LIMITS, "Max bananas"), None);
    }
}
