package keystone

import (
	"testing"
)

// TestMountedFilesMatchConfigMap verifies that every file which the API's pod mounts by name is in the ConfigMap.
func TestMountedFilesMatchConfigMap(t *testing.T) {
	for _, file := range []string{"small", "federation", "federation-tokens", "directories", "paths"} {
		m := derived(t, xr(t, file))
		mounted := map[string]bool{}
		for _, c := range m.APIPod().Containers {
			for _, mount := range c.VolumeMounts {
				if mount.Name != "config" {
					continue
				}
				mounted[mount.SubPath] = true
				if _, ok := m.Files.Data[mount.SubPath]; !ok {
					t.Errorf("%s: container %s mounts %s, which is not in the ConfigMap", file, c.Name, mount.SubPath)
				}
			}
		}
		for name := range m.Files.Data {
			if !mounted[name] {
				t.Errorf("%s: no container mounts %s", file, name)
			}
		}
	}
}
