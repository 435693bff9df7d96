package wiring

import (
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A mounted file or folder of a container.
type mounted struct {
	path string
	// open: a folder with unknown files.
	open bool
	// value of a file.
	value value
}

// mounts returns the files of a container.
func (w *inventory) mounts(p *pod, c corev1.Container) []mounted {
	var out []mounted
	for _, m := range c.VolumeMounts {
		sources := sourcesOf(p, m.Name)
		if len(sources) == 0 {
			out = append(out, mounted{path: m.MountPath, open: true})
		}
		for _, s := range sources {
			name := secretName{p.namespaceRef, s.name}
			created := w.secrets[name]
			if created == nil || created.keys == nil {
				out = append(out, mounted{path: m.MountPath, open: true})
				continue
			}
			for key := range created.keys {
				at, selected := s.items[key]
				if !selected && s.items != nil {
					continue
				}
				if at == "" {
					at = key
				}
				where := path.Join(m.MountPath, at)
				if m.SubPath != "" {
					if m.SubPath != at {
						continue
					}
					where = m.MountPath
				}
				v, _ := w.value(name, key)
				out = append(out, mounted{path: where, value: v})
			}
		}
	}
	return out
}

// mount sets the contents of the files that the containers of a pod mount.
func (w *inventory) mount(p *pod) {
	if p.spec == nil {
		return
	}
	p.files = map[string]string{}
	for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
		for _, m := range w.mounts(p, c) {
			if m.value.content != "" {
				p.files[m.path] = m.value.content
			}
		}
	}
}

// readBy returns all texts that a container reads: its arguments, its environment, and its mounted files.
func (w *inventory) readBy(p *pod, c corev1.Container) []string {
	out := slices.Concat(c.Command, c.Args)
	for _, e := range c.Env {
		out = append(out, e.Value)
	}
	for _, m := range w.mounts(p, c) {
		out = append(out, m.value.content)
	}
	return out
}

var (
	// filePath matches the path of a file in a text, not the path of a URL.
	filePath = regexp.MustCompile(`(?:^|[\s=,"'(])(/[A-Za-z0-9_.\-/]+)`)
	// optionName is the name of an option in front of its value.
	optionName = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_-]*)[\s=:"]*$`)
)

// checkFiles checks that every file named in the configuration of a container is mounted, and has the type that the
// option requires: a key if it requires a key. The files of an image are unknown: only files in the folder of a mounted
// file are checked. Scripts that the container does not run are ignored.
func (w *inventory) checkFiles() {
	for _, p := range w.pods {
		if p.spec == nil {
			continue
		}
		for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
			mounts := w.mounts(p, c)
			for _, t := range w.readBy(p, c) {
				if isScript(t) && !runs(c, mounts, t) {
					continue
				}
				for line := range strings.SplitSeq(ownBackend(c, t), "\n") {
					for _, m := range filePath.FindAllStringSubmatchIndex(line, -1) {
						w.checkFile(p, c, mounts, line[:m[2]], line[m[2]:m[3]])
					}
				}
			}
		}
	}
}

// isScript reports whether a text is a script with an interpreter.
func isScript(text string) bool { return strings.HasPrefix(text, "#!") }

// runs reports whether a container's command names the mounted file of a script, directly or through another script.
func runs(c corev1.Container, mounts []mounted, script string) bool {
	requested := strings.Join(slices.Concat(c.Command, c.Args), "\n")
	for _, m := range mounts {
		if isScript(m.value.content) && m.value.content != script && strings.Contains(requested, m.path) {
			requested += "\n" + m.value.content
		}
	}
	return slices.ContainsFunc(mounts, func(m mounted) bool { return m.value.content == script && strings.Contains(requested, m.path) })
}

var (
	// ofBackend is an option that each group of a backend has, in the file that Cinder's managers share.
	ofBackend = regexp.MustCompile(`(?m)^volume_driver\s*=`)
	// group matches the header of a group of options.
	group = regexp.MustCompile(`(?m)^\[`)
)

// enabledBackend is the variable that selects the group of a manager
// (https://docs.openstack.org/cinder/latest/admin/multi-backend.html).
const enabledBackend = "OS_DEFAULT__ENABLED_BACKENDS"

// ownBackend removes the groups of other backends from a text.
func ownBackend(c corev1.Container, text string) string {
	at := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == enabledBackend })
	if at < 0 {
		return text
	}
	var out strings.Builder
	start := 0
	for _, next := range append(group.FindAllStringIndex(text, -1), []int{len(text)}) {
		part := text[start:next[0]]
		if name, _, _ := strings.Cut(strings.TrimPrefix(part, "["), "]"); name == c.Env[at].Value || !ofBackend.MatchString(part) {
			out.WriteString(part)
		}
		start = next[0]
	}
	return out.String()
}

func (w *inventory) checkFile(p *pod, c corev1.Container, mounts []mounted, before, name string) {
	inMountedFolder := false
	for _, m := range mounts {
		inFolder := m.open && strings.HasPrefix(name, m.path+"/")
		if inFolder || m.path == name || strings.HasPrefix(m.path, name+"/") {
			option := ""
			if o := optionName.FindStringSubmatch(before); o != nil {
				option = o[1]
			}
			for _, as := range []string{option, path.Base(name)} {
				if read := means(as); m.path == name && !m.value.free && !m.value.is.matches(read) {
					w.foundf("%s: container %s reads %s as %s, which is %s: it is %s.", p, c.Name, name, as, read, m.value.is)
				}
			}
			return
		}
		inMountedFolder = inMountedFolder || path.Dir(name) != "/" && path.Dir(m.path) == path.Dir(name) || m.open && m.path == path.Dir(name)
	}
	if inMountedFolder && !doesNotRead(name, programOf(p, c)) {
		w.foundf("%s: container %s is configured to read %s, which is not mounted.", p, c.Name, name)
	}
}
