//go:build openstack && linux

package horizon

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/hypervisors"
)

// TestHorizonConsole checks that a user of the dashboard in a cloud with hypervisors can create a server by clicking,
// and sees its screen in the page.
func TestHorizonConsole(t *testing.T) {
	const end, number = "-console", 10
	claim := bytes.Replace(harness.Claim(t, "compute.yaml", hypervisors.RestartRelease, end), []byte("    neutron:\n"),
		[]byte("    horizon:\n      enabled: true\n      title: Example Cloud\n      uwsgi: {processes: 1, threads: 8}\n    neutron:\n"), 1)
	m := hypervisors.Start(t, claim, harness.Claim(t, "hypervisors.yaml", hypervisors.RestartRelease, end), number)
	m.KernelArguments = " console=tty0" // The console is also on the screen.
	m.Boot(t)
	s := siteOf(t, m.Cloud)
	d := drive(t, s, "console-cell1."+strings.TrimPrefix(s.host(), "horizon."))
	d.open(s.url + "/")
	d.logIn(s)
	m.Lap(t, "a browser is logged in")
	id := d.launch(t, s, m)
	m.Lap(t, "a virtual machine that was made by clicking is ACTIVE")
	d.console(t, s, m, id)
	m.Lap(t, "its screen is in the page")
	for _, c := range d.complaints() {
		t.Errorf("the browser complains: %s", c)
	}
}

// clicked is the name of the created server.
const clicked = "clicked"

// launch creates a server as a user does, and returns when Nova has it.
func (d *driven) launch(t *testing.T, s *site, m *hypervisors.Machines) (id string) {
	t.Helper()
	d.open(s.url + "/project/instances/")
	d.press("//a[contains(@class, 'btn-launch')]")
	d.press("//input[@id='name']")
	d.write("input#name", clicked)
	const (
		step      = "//ul[contains(@class, 'nav-stacked')]//a[span[text()='%s']]"
		shown     = "//div[contains(concat(' ', @class, ' '), ' step ') and not(contains(@class, 'ng-hide'))]"
		available = shown + "//div[contains(@class, 'transfer-available')]//tr[td[normalize-space()='%s']]"
	)
	for _, choice := range []struct{ Claim, label string }{{"Source", "guest"}, {"Flavor", "guest"}, {"Networks", "inside"}} {
		d.press(fmt.Sprintf(step, choice.Claim))
		d.press(fmt.Sprintf(available+"//td[contains(@class, 'actions_column')]//button", choice.label))
	}
	d.picture("launch")
	d.press("//button[contains(@class, 'finish')]")
	m.Until(t, "the virtual machine that was ordered", "", func() error {
		page, err := servers.ListSimple(m.ServiceClient, servers.ListOpts{Name: clicked}).AllPages(context.Background())
		if err != nil {
			return err
		}
		all, err := servers.ExtractServers(page)
		if err == nil && len(all) != 1 {
			err = fmt.Errorf("there are %d", len(all))
		}
		if err == nil {
			id = all[0].ID
		}
		return err
	})
	if err := m.WaitForServer(context.Background(), id); err != nil {
		t.Fatalf("%v\n%s", err, m.Logs(t, "nova-compute"))
	}
	return id
}

// console opens the console of a server as a user does, and waits until the screen of that server is displayed, with
// contents.
func (d *driven) console(t *testing.T, s *site, m *hypervisors.Machines, id string) {
	t.Helper()
	var is struct {
		Name string `json:"OS-EXT-SRV-ATTR:instance_name"`
	}
	if err := servers.Get(context.Background(), m.ServiceClient, id).ExtractInto(&is); err != nil {
		t.Fatal(err)
	}
	d.open(s.url + "/project/instances/")
	d.picture("instances")
	d.press(fmt.Sprintf("//a[normalize-space()='%s']", clicked))
	d.press("//ul[contains(@class, 'nav-tabs')]//a[contains(@href, 'instance_details__console')]")
	m.Until(t, "the screen in the page", id, func() error {
		d.within("iframe#console_embed")
		caption, screen := d.text("#status, #noVNC_status"), d.eval(drawn)
		d.do(http.MethodPost, "/frame", map[string]any{"id": nil})
		if !strings.Contains(caption, "Connected") || !strings.Contains(caption, "QEMU ("+is.Name+")") || screen != "drawn" {
			return fmt.Errorf("the page shows %q, and its screen is %s", caption, screen)
		}
		return nil
	})
	d.picture("console")
}

// drawn is a script that returns whether the screen has any contents.
const drawn = `const c = document.querySelector("canvas");
	if (!c || !c.width) { return "not there"; }
	return c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v, i) => i % 4 < 3 && v > 0) ? "drawn" : "black";`
