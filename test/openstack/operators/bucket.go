//go:build linux

package operators

import (
	"crypto/md5" //nolint:gosec // S3's name for a content
	"crypto/tls"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Bucket is a fake: an object store in memory that has one, as much of S3 as backups need. It takes requests of one key's owner, by the
// key's id; it does not check signatures.
type Bucket struct {
	name, keyID string

	mu      sync.Mutex
	objects map[string]stored
}

type stored struct {
	content  []byte
	modified time.Time
}

// Bucket starts an object store at a host, with a certificate of the public authority.
func (o *Operators) Bucket(host, name, keyID string) (*Bucket, error) {
	pair, err := o.Public.Server(host)
	if err != nil {
		return nil, err
	}
	const port = 443
	l, err := o.Cluster.Listen(port, host)
	if err != nil {
		return nil, err
	}
	b := &Bucket{name: name, keyID: keyID, objects: map[string]stored{}}
	server := &http.Server{Handler: b, ReadHeaderTimeout: time.Minute}
	go func() {
		_ = server.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}))
	}()
	return b, nil
}

// Names of what is in the bucket, in order.
func (b *Bucket) Names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for name := range b.objects {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// ServeHTTP answers a request: https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
func (b *Bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bucket, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	b.mu.Lock()
	object, found := b.objects[name]
	b.mu.Unlock()
	switch {
	case !strings.Contains(r.Header.Get("Authorization"), "Credential="+b.keyID+"/"):
		refuse(w, http.StatusForbidden, "InvalidAccessKeyId")
	case bucket != b.name:
		refuse(w, http.StatusNotFound, "NoSuchBucket")
	case r.Method == http.MethodPut && name != "" && r.URL.RawQuery == "":
		b.put(w, r, name)
	case r.Method == http.MethodGet && name == "" && r.URL.Query().Get("list-type") == "2":
		b.list(w, r.URL.Query().Get("prefix"))
	case r.Method == http.MethodDelete && name != "":
		b.mu.Lock()
		delete(b.objects, name)
		b.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case (r.Method == http.MethodGet || r.Method == http.MethodHead) && name != "" && !found:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	case (r.Method == http.MethodGet || r.Method == http.MethodHead) && name != "":
		w.Header().Set("ETag", object.tag())
		w.Header().Set("Last-Modified", object.modified.UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", strconv.Itoa(len(object.content)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(object.content)
		}
	default:
		refuse(w, http.StatusNotImplemented, "NotImplemented")
	}
}

func (b *Bucket) put(w http.ResponseWriter, r *http.Request, name string) {
	content, err := io.ReadAll(r.Body)
	if err != nil || strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	object := stored{content: content, modified: time.Now()}
	b.mu.Lock()
	b.objects[name] = object
	b.mu.Unlock()
	w.Header().Set("ETag", object.tag())
}

func (b *Bucket) list(w http.ResponseWriter, prefix string) {
	type content struct {
		Key          string `xml:"Key"`
		LastModified string `xml:"LastModified"`
		ETag         string `xml:"ETag"`
		Size         int    `xml:"Size"`
	}
	out := struct {
		XMLName     xml.Name  `xml:"ListBucketResult"`
		Name        string    `xml:"Name"`
		Prefix      string    `xml:"Prefix"`
		IsTruncated bool      `xml:"IsTruncated"`
		KeyCount    int       `xml:"KeyCount"`
		Contents    []content `xml:"Contents"`
	}{Name: b.name, Prefix: prefix}
	for _, name := range b.Names() {
		if strings.HasPrefix(name, prefix) {
			b.mu.Lock()
			object := b.objects[name]
			b.mu.Unlock()
			out.Contents = append(out.Contents, content{
				Key: name, LastModified: object.modified.UTC().Format(time.RFC3339), ETag: object.tag(), Size: len(object.content),
			})
		}
	}
	out.KeyCount = len(out.Contents)
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(out)
}

func (s stored) tag() string {
	sum := md5.Sum(s.content) //nolint:gosec // S3's name for a content
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, http.StatusText(status))
}
