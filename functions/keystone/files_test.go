package keystone

import (
	"encoding/json"
	"testing"
)

// TestMountedFiles: every file that the API's pod mounts by its name is in the ConfigMap.
func TestMountedFiles(t *testing.T) {
	for _, file := range []string{"small", "federation", "federation-tokens", "directories", "paths"} {
		m := derived(t, xr(t, file))
		mounted := map[string]bool{}
		for _, c := range m.apiPod().Containers {
			for _, mount := range c.VolumeMounts {
				if mount.Name != "config" {
					continue
				}
				mounted[mount.SubPath] = true
				if _, ok := m.files.data[mount.SubPath]; !ok {
					t.Errorf("%s: container %s mounts %s, which is not in the ConfigMap", file, c.Name, mount.SubPath)
				}
			}
		}
		for name := range m.files.data {
			if !mounted[name] {
				t.Errorf("%s: no container mounts %s", file, name)
			}
		}
	}
}

// TestPolicyFile: no policy file is JSON, because keystone-status refuses such a one.
func TestPolicyFile(t *testing.T) {
	for name, rules := range map[string]map[string]string{
		"none": nil,
		"one":  {"identity:list_projects": "role:auditor"},
		"two":  {"identity:list_projects": "@", "identity:list_users": "!"},
	} {
		text, err := policyFile(rules)
		if err != nil {
			t.Fatal(err)
		}
		if json.Valid([]byte(text)) {
			t.Errorf("%s: the policy file is JSON: %s", name, text)
		}
	}
}
