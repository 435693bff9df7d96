package compute

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// CPUSet is a set of processor numbers.
type CPUSet map[int]bool

// maxCPU bounds the processor numbers: Linux is built for 8192 at most (CONFIG_NR_CPUS).
const maxCPU = 8191

// ParseCPUSet parses a set of processors as Nova does (nova.virt.hardware.parse_cpu_spec): numbers and ranges, separated by
// commas. A caret excludes a number or a range from the set, in any order. As Nova requires, the set must contain at least
// one processor. https://docs.openstack.org/nova/latest/configuration/config.html#compute.cpu_dedicated_set
func ParseCPUSet(text string) (CPUSet, error) {
	set, without := CPUSet{}, CPUSet{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		in := set
		number, excluded := strings.CutPrefix(item, "^")
		if excluded {
			in = without
		}
		first, last, isRange := strings.Cut(number, "-")
		if !isRange {
			last = first
		}
		from, err := parseCPU(first)
		if err != nil {
			return nil, fmt.Errorf("cannot parse %q in %q: %w", item, text, err)
		}
		to, err := parseCPU(last)
		if err != nil {
			return nil, fmt.Errorf("cannot parse %q in %q: %w", item, text, err)
		}
		if from > to {
			return nil, fmt.Errorf("range %q in %q must begin with the smaller number", item, text)
		}
		for n := from; n <= to; n++ {
			in[n] = true
		}
	}
	maps.DeleteFunc(set, func(n int, _ bool) bool { return without[n] })
	if len(set) == 0 {
		return nil, fmt.Errorf("%q must contain at least one processor", text)
	}
	return set, nil
}

func parseCPU(text string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
	if err != nil || n > maxCPU {
		return 0, fmt.Errorf("processor numbers must be between 0 and %d", maxCPU)
	}
	return int(n), nil
}

// Common returns the processors of both sets, sorted.
func (s CPUSet) Common(other CPUSet) []int {
	var out []int
	for n := range s {
		if other[n] {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// FormatCPUs returns sorted processor numbers as numbers and ranges: 2-4,8.
func FormatCPUs(sorted []int) string {
	var out []string
	for i := 0; i < len(sorted); {
		end := i
		for end+1 < len(sorted) && sorted[end+1] == sorted[end]+1 {
			end++
		}
		item := strconv.Itoa(sorted[i])
		if end > i {
			item += "-" + strconv.Itoa(sorted[end])
		}
		out, i = append(out, item), end+1
	}
	return strings.Join(out, ",")
}
