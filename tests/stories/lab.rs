//! The lab itself: what it starts works, and nothing of it is left.

use lab::{Cluster, Etcd, Result};

#[test]
fn clusters_start_and_nothing_is_left_of_them() -> Result<()> {
    let started = lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let (control_plane, storage) = tokio::try_join!(
            Cluster::start(&machine, &etcd, "control-plane"),
            Cluster::start(&machine, &etcd, "storage"),
        )?;
        tokio::try_join!(
            control_plane.install_external_secrets(),
            storage.install_rook()
        )?;
        Ok(machine.running())
    })?;
    assert_eq!(
        started.len(),
        5,
        "etcd, two API servers, two controller managers: {started:?}"
    );
    for (name, process) in started {
        assert!(
            !std::fs::exists(format!("/proc/{process}"))?,
            "{name} outlives its story"
        );
    }
    Ok(())
}
