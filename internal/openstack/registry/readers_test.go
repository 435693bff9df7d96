package registry

import "testing"

// TestReaders checks options with one known reader, in every release, and programs that never read them.
func TestReaders(t *testing.T) {
	for _, tc := range []struct {
		reason, service, program, group, option string
		want                                    Use
	}{
		{"Only nova-compute checks server groups again.", "nova", "nova-compute", "workarounds", "disable_group_policy_check_upcall", Reads},
		{"A conductor does not.", "nova", "nova-conductor", "workarounds", "disable_group_policy_check_upcall", Ignores},
		{"The scheduler tracks servers.", "nova", "nova-scheduler", "filter_scheduler", "track_instance_changes", Reads},
		{"The API decides on a resize.", "nova", "nova.wsgi.osapi_compute", "DEFAULT", "allow_resize_to_same_host", Reads},
		{"The metadata API verifies signatures.", "nova", "nova.wsgi.metadata", "neutron", "service_metadata_proxy", Reads},
		{"nova-compute serves no metadata.", "nova", "nova-compute", "neutron", "service_metadata_proxy", Ignores},
		{"Groups are found in any case.", "nova", "nova-conductor", "Workarounds", "disable_group_policy_check_upcall", Ignores},
		{"No program of Heat reads it.", "heat", "heat-engine", "DEFAULT", "template_dir", Ignores},
		{"A group that an administrator names is not analyzed.", "glance", "glance.wsgi.api", "ceph", "rbd_store_pool", Unknown},
		{"A program that is not analyzed.", "nova", "nova-policy", "DEFAULT", "debug", Unknown},
	} {
		for _, release := range releases {
			r, err := ReadersOf(tc.service, release)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Use(tc.program, tc.group, tc.option); got != tc.want {
				t.Errorf("%s: %s: %s [%s] %s is %s, want %s", release, tc.reason, tc.program, tc.group, tc.option, got, tc.want)
			}
		}
	}
	if _, err := ReadersOf("nova", "2024.2"); err == nil {
		t.Error("a release without data is given")
	}
}
