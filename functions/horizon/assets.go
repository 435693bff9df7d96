package horizon

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Style sheets, scripts, fonts and pictures are collected and compressed at startup of a pod, because they depend on its settings, and not
// only on the image. uWSGI serves them.
const (
	assetsVolumeName = "assets"
	assetsFolder     = "/var/lib/horizon/assets"
	assetsPath       = "/static"
	typesFile        = "mime.types"
)

// contentTypes are the media types of the files. Browsers reject a style sheet of another type, and the image may lack a list of types.
const contentTypes = `text/css css
text/html html
text/javascript js
text/plain txt
application/json json map
font/ttf ttf
font/otf otf
font/woff woff
font/woff2 woff2
application/vnd.ms-fontobject eot
image/gif gif
image/jpeg jpeg jpg
image/png png
image/svg+xml svg
image/vnd.microsoft.icon ico
`

// environment points Python to the settings.
var environment = []corev1.EnvVar{
	{Name: "PYTHONPATH", Value: "/etc/" + definition.App},
	{Name: "DJANGO_SETTINGS_MODULE", Value: "openstack_dashboard.settings"},
}

// assetsLimit is a multiple of their size.
var assetsLimit = resource.MustParse("512Mi")

// assetsResources are sufficient to build them.
var assetsResources = workload.Resources("100m", "256Mi", "1Gi")

// makeAssets builds them: https://docs.openstack.org/horizon/latest/install/from-source.html#static-assets
const makeAssets = "python -m django collectstatic --noinput --verbosity 0 && python -m django compress --verbosity 0"

func assetsVolume() service.Volume {
	return service.Volume{Folder: assetsFolder, Volume: corev1.Volume{Name: assetsVolumeName, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &assetsLimit},
	}}}
}

// APIPod returns a pod that builds its assets before it serves requests.
func (m *model) APIPod() workload.Pod {
	p := m.Service.APIPod()
	main := p.Containers[0]
	first := corev1.Container{
		Name: "assets", Image: main.Image, Command: []string{"sh", "-c", makeAssets}, Env: main.Env,
		Resources: workload.Requirements(assetsResources),
	}
	for _, mount := range main.VolumeMounts {
		switch mount.Name {
		case assetsVolumeName:
			mount.ReadOnly = false
		case "config", keySecret:
		default:
			continue
		}
		first.VolumeMounts = append(first.VolumeMounts, mount)
	}
	p.InitContainers = append(p.InitContainers, first)
	return p
}

// headers returns the headers of every response. The policy allows the content of Horizon's pages, including inline scripts and styles, and
// templates that are compiled in the browser; consoles are frames of other hosts.
func (m *model) headers() []string {
	out := []string{
		"Content-Security-Policy: default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; " +
			"img-src 'self' data:; font-src 'self' data:; frame-src 'self' https:; frame-ancestors 'none'; object-src 'none'; base-uri 'self'",
		"Referrer-Policy: same-origin",
		"X-Content-Type-Options: nosniff",
	}
	if m.encrypted() {
		out = append(out, "Strict-Transport-Security: max-age=31536000")
	}
	return out
}
