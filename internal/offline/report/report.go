// Package report prints the errors in claims in the formats of other programs: editors, continuous integration, and code review.
package report

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// Input is a claim that was checked.
type Input struct {
	// File is its file; empty for standard input.
	File string
	// Name is its kind and name, as in the input of an error.
	Name string
}

// standardInput stands for the file of claims that are not in a file.
const standardInput = "standard input"

// Print writes the errors in a format: text, json, junit, sarif or github. version is the program's name and version. inputs are all
// claims that were checked, also valid ones. A file without errors is reported only by junit.
func Print(w io.Writer, format, version string, inputs []Input, errs []*preview.ValidationErrors) error {
	switch format {
	case "json":
		return preview.PrintErrors(w, errs)
	case "junit":
		return junit(w, inputs, errs)
	case "sarif":
		return sarif(w, version, errs)
	case "github":
		return github(w, errs)
	}
	for _, e := range errs {
		if _, err := fmt.Fprintln(w, e); err != nil {
			return err
		}
	}
	return nil
}

// text returns a error with its hint.
func text(m preview.ValidationError) string {
	if m.Hint == "" {
		return m.Message
	}
	return m.Message + "; " + m.Hint
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	Failure   *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// junit writes a suite for each file, with a test case for each claim, in the format of JUnit
// (https://github.com/jenkinsci/xunit-plugin/blob/master/src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/junit-10.xsd).
func junit(w io.Writer, inputs []Input, errs []*preview.ValidationErrors) error {
	out := junitSuites{Name: "cobaltcore validate"}
	suites := map[string]int{}
	add := func(in Input, failure *junitFailure) {
		file := cmp.Or(in.File, standardInput)
		i, ok := suites[file]
		if !ok {
			i = len(out.Suites)
			suites[file], out.Suites = i, append(out.Suites, junitSuite{Name: file})
		}
		s := &out.Suites[i]
		s.Cases = append(s.Cases, junitCase{Name: in.Name, ClassName: file, Failure: failure})
		s.Tests++
		out.Tests++
		if failure != nil {
			s.Failures++
			out.Failures++
		}
	}
	failed := map[Input]bool{}
	for _, e := range errs {
		in := Input{e.File, e.Input}
		failed[in] = true
		add(in, &junitFailure{Message: text(e.List()[0]), Type: "invalid", Text: e.Error()})
	}
	for _, in := range inputs {
		if !failed[in] {
			add(in, nil)
		}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// github writes an annotation for each error
// (https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions#setting-an-error-message).
func github(w io.Writer, errs []*preview.ValidationErrors) error {
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, e := range errs {
		for _, m := range e.List() {
			at := "title=" + property.Replace(e.Input)
			if e.File != "" {
				at += ",file=" + property.Replace(e.File)
			}
			if m.Line > 0 {
				at += fmt.Sprintf(",line=%d", m.Line)
			}
			if _, err := fmt.Fprintf(w, "::error %s::%s\n", at, message.Replace(text(m))); err != nil {
				return err
			}
		}
	}
	return nil
}

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool    sarifTool     `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	FullName       string      `json:"fullName"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
}

type sarifLocation struct {
	Physical sarifPhysical  `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogical struct {
	FullyQualifiedName string `json:"fullyQualifiedName"`
}

// rule is the only rule of the SARIF format: each message has its own constraint.
const rule = "invalid-claim"

// sarif writes the errors in the Static Analysis Results Interchange Format 2.1.0
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).
func sarif(w io.Writer, version string, errs []*preview.ValidationErrors) error {
	run := sarifRun{Results: []sarifResult{}, Tool: sarifTool{sarifDriver{
		Name: "cobaltcore", FullName: version, InformationURI: "https://github.com/c5c3/crossplane-cobaltcore",
		Rules: []sarifRule{{rule, sarifText{"The API server or the function rejects the claim."}}},
	}}}
	for _, e := range errs {
		for _, m := range e.List() {
			r := sarifResult{RuleID: rule, Level: "error", Message: sarifText{e.Input + ": " + text(m)}}
			if e.File != "" {
				at := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{filepath.ToSlash(e.File)}}}
				if m.Line > 0 {
					at.Physical.Region = &sarifRegion{m.Line}
				}
				if m.Field != "" {
					at.Logical = []sarifLogical{{m.Field}}
				}
				r.Locations = []sarifLocation{at}
			}
			run.Results = append(run.Results, r)
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}
