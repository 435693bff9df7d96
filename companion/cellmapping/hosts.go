package cellmapping

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

const (
	// every is how often Nova's API is asked for hypervisors.
	every = time.Minute
	// pauseLongest is the longest pause between searches for the same hosts.
	pauseLongest = time.Hour
	// anyway is how often the hosts of a cell are listed if nothing else asks for it.
	anyway = time.Hour
	// hostLimit is how many hosts the status takes, and shown how many a sentence names.
	hostLimit, shown = 1024, 5
)

// searching: a search for hosts has begun and not ended.
func (w *world) searching() bool {
	s := w.cell.Status.Search
	return s != nil && s.Time == nil && w.cell.Spec.CloudCredentialsRef != nil && w.cell.Spec.Cell != cell0
}

// unmapped are hosts that the API lists and that no cell has, as far as is known. Of a cell with more hosts than its status takes, so many
// are not known by name.
func (w *world) unmapped() []string {
	mapped, nameless := map[string]bool{}, 0
	for _, c := range append([]openstackv1.CellMapping{*w.cell}, w.siblings...) {
		for _, h := range c.Status.Hosts {
			mapped[h] = true
		}
		nameless += int(c.Status.HostCount) - len(c.Status.Hosts)
	}
	var out []string
	for _, h := range w.hosts {
		if !mapped[h] {
			out = append(out, h)
		}
	}
	if len(out) <= nameless {
		return nil
	}
	return out
}

// unlisted are hosts of the cell that the API does not list: they were removed, or the cell's database does not answer.
func (w *world) unlisted() []string {
	var out []string
	for _, h := range w.cell.Status.Hosts {
		if _, found := slices.BinarySearch(w.hosts, h); !found {
			out = append(out, h)
		}
	}
	return out
}

// wanted is a search that has to begin: nil if none does. One for no hosts only lists those that there are.
func (w *world) wanted() *openstackv1.HostSearch {
	last, without, gone := w.cell.Status.Search, w.unmapped(), w.unlisted()
	if len(without)+len(gone) == 0 {
		if len(w.hosts) == 0 || last != nil && w.now.Sub(last.Time.Time) < anyway {
			return nil
		}
		return &openstackv1.HostSearch{}
	}
	hash := names.Hash(hashDigits, append(without, append([]string{""}, gone...)...)...)
	if last == nil || last.Hash != hash {
		return &openstackv1.HostSearch{Hash: hash, Attempts: 1}
	}
	if w.now.Before(last.Time.Add(pause(every, pauseLongest, last.Attempts))) {
		return nil
	}
	return &openstackv1.HostSearch{Hash: hash, Attempts: min(last.Attempts+1, doublings)}
}

// look begins a search, if one is wanted, and else reports which hosts are mapped.
func look(w *world) *controller.Step {
	if !w.asked {
		return nil
	}
	search := w.wanted()
	if search == nil {
		return &controller.Step{After: every, Status: func() {
			w.report()
			w.reportHosts()
			// Where there is no hypervisor nothing is listed, and what is known is that there is none.
			if s := &w.cell.Status; len(w.hosts) == 0 && s.OldestCompute == nil {
				s.OldestCompute = new(int32(0))
			}
		}}
	}
	s := &controller.Step{Name: "HostsSearched", After: controller.AtOnce, Record: true, Status: func() {
		w.report()
		w.reportHosts()
		w.cell.Status.Search = search
	}}
	if without := w.unmapped(); len(without) > 0 && search.Attempts == 1 {
		s.Note = "looks for hosts that no cell has: " + some(without)
	}
	return s
}

// learnHosts ends a search by what was listed.
func (w *world) learnHosts(output, cell string) error {
	hosts, err := hostsOf(output, cell)
	if err != nil {
		return err
	}
	s := &w.cell.Status
	oldest, err := oldestOf(output)
	if err != nil {
		return err
	}
	s.OldestCompute = &oldest
	s.HostCount = int32(len(hosts)) //nolint:gosec // A list of them is read to its ten thousandth line.
	s.Hosts = hosts[:min(len(hosts), hostLimit)]
	if s.Search != nil {
		s.Search.Time = w.time()
	}
	return nil
}

// reportHosts sets the condition by what the API lists.
func (w *world) reportHosts() {
	s := &w.cell.Status
	without := w.unmapped()
	switch {
	case len(without) > 0 && s.Search != nil && s.Search.Time != nil:
		at := s.Search.Time.Add(pause(every, pauseLongest, s.Search.Attempts))
		w.set(conditionHosts, false, "HostsUnmapped", fmt.Sprintf("no cell has %s; it was looked for in %s at %s, and will be at %s again",
			some(without), w.cell.Spec.Cell, clock(s.Search.Time.Time), clock(at)))
	case len(without) > 0:
		w.set(conditionHosts, false, "HostsUnmapped", fmt.Sprintf("no cell has %s: it is looked for in %s", some(without), w.cell.Spec.Cell))
	case len(w.unlisted()) > 0:
		w.set(conditionHosts, true, "HostsMapped",
			fmt.Sprintf("%d hosts are mapped, of which Nova's API does not list %s", s.HostCount, some(w.unlisted())))
	default:
		w.set(conditionHosts, true, "HostsMapped", fmt.Sprintf("%d hosts are mapped, and no host waits for it", s.HostCount))
	}
}

// some of a list of hosts.
func some(hosts []string) string {
	if len(hosts) <= shown {
		return strings.Join(hosts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(hosts[:shown], ", "), len(hosts)-shown)
}

func clock(t time.Time) string { return metav1.Time{Time: t}.UTC().Format(time.RFC3339) }
