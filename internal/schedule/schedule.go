// Package schedule interprets cron expressions of claims: their times, and the shortest and the longest interval between two of them.
package schedule

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

const (
	day           = 24 * time.Hour
	minutesOfHour = 60
	hoursOfDay    = 24
	daysOfWeek    = 7
)

// star is the bit that the parser sets for a field that is not restricted.
const star = 1 << 63

// Schedule is a cron expression with five fields, in UTC.
type Schedule struct {
	text string
	spec *cron.SpecSchedule
	// shortest and longest are the intervals between two successive times.
	shortest, longest time.Duration
}

// Parse parses a cron expression. It returns an error if the expression is malformed, contains a time zone or a
// descriptor (@daily), or has no times.
func Parse(text string) (Schedule, error) {
	spec, err := parse(text)
	if err != nil {
		return Schedule{}, err
	}
	s := Schedule{text: text, spec: spec}
	if s.shortest, s.longest = intervals(spec); s.shortest == 0 {
		return Schedule{}, never(text)
	}
	return s, nil
}

// Check returns the same errors as Parse, with less work.
func Check(text string) error {
	spec, err := parse(text)
	if err != nil {
		return err
	}
	// The parser's search ends after five years, which include a 29th of February.
	if spec.Next(time.Date(2001, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return never(text)
	}
	return nil
}

func never(text string) error {
	return fmt.Errorf("schedule %q never comes, because no month that it names has such a day", text)
}

func parse(text string) (*cron.SpecSchedule, error) {
	if strings.ContainsAny(text, "@=") {
		return nil, fmt.Errorf("schedule %q has to have five fields, in UTC, and nothing else", text)
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read schedule %q: %w", text, err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("cannot read schedule %q: it has no fields", text)
	}
	for _, field := range []struct {
		name   string
		values uint64
	}{{"minute", spec.Minute}, {"hour", spec.Hour}, {"day of month", spec.Dom}, {"month", spec.Month}, {"day of week", spec.Dow}} {
		if field.values == 0 { // The parser accepts a list of commas alone.
			return nil, fmt.Errorf("cannot read schedule %q: its field %s has no value", text, field.name)
		}
	}
	return spec, nil
}

// Next returns the first time of the schedule after t.
func (s Schedule) Next(t time.Time) time.Time { return s.spec.Next(t.UTC()) }

// Shortest returns the shortest interval between two successive times.
func (s Schedule) Shortest() time.Duration { return s.shortest }

// Longest returns the longest interval between two successive times.
func (s Schedule) Longest() time.Duration { return s.longest }

func (s Schedule) String() string { return s.text }

// intervals returns the shortest and the longest interval between two successive times: within a scheduled day, and from the last time of
// one scheduled day to the first time of the next. Days repeat after a week if only weekdays are restricted, and otherwise after 28
// years, as weekdays and leap years do from 1901 to 2099. Both results are 0 if the schedule has no days.
func intervals(spec *cron.SpecSchedule) (shortest, longest time.Duration) {
	times := timesOfDay(spec)
	overnight := times[0] - times[len(times)-1]
	previous, weekly := -1, spec.Dom&star != 0 && spec.Month&star != 0
	nearest, farthest := 0, 0
	eachDay(func(number int, month time.Month, dayOfMonth int, weekday time.Weekday) bool {
		if !names(spec, month, dayOfMonth, weekday) {
			return true
		}
		if days := number - previous; previous >= 0 {
			farthest = max(farthest, days)
			if nearest == 0 || days < nearest {
				nearest = days
			}
		}
		previous = number
		return !weekly || number < 2*daysOfWeek
	})
	if nearest == 0 {
		return 0, 0
	}
	shortest, longest = time.Duration(nearest)*day+overnight, time.Duration(farthest)*day+overnight
	for i := 1; i < len(times); i++ {
		gap := times[i] - times[i-1]
		shortest, longest = min(shortest, gap), max(longest, gap)
	}
	return shortest, longest
}

// eachDay visits the days of 28 years and of eight more, which is the longest distance between two 29ths of February.
func eachDay(visit func(number int, month time.Month, dayOfMonth int, weekday time.Weekday) bool) {
	const first, years = 2001, 36
	number, weekday := 0, time.Date(first, time.January, 1, 0, 0, 0, 0, time.UTC).Weekday()
	for year := first; year < first+years; year++ {
		for month := time.January; month <= time.December; month++ {
			last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
			for dayOfMonth := 1; dayOfMonth <= last; dayOfMonth++ {
				if !visit(number, month, dayOfMonth, weekday) {
					return
				}
				number, weekday = number+1, (weekday+1)%daysOfWeek
			}
		}
	}
}

// names reports whether a schedule includes a day. If both the day of the month and the day of the week are restricted, one
// match is sufficient (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/crontab.html).
func names(spec *cron.SpecSchedule, month time.Month, dayOfMonth int, weekday time.Weekday) bool {
	if spec.Month>>uint(month)&1 == 0 {
		return false
	}
	ofMonth, ofWeek := spec.Dom>>uint(dayOfMonth)&1 == 1, spec.Dow>>uint(weekday)&1 == 1
	if spec.Dom&star != 0 || spec.Dow&star != 0 {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}

// timesOfDay returns the times of a scheduled day, in order.
func timesOfDay(spec *cron.SpecSchedule) []time.Duration {
	times := make([]time.Duration, 0, bits.OnesCount64(spec.Hour)*bits.OnesCount64(spec.Minute))
	for h := range hoursOfDay {
		for m := range minutesOfHour {
			if spec.Hour>>h&1 == 1 && spec.Minute>>m&1 == 1 {
				times = append(times, time.Duration(h)*time.Hour+time.Duration(m)*time.Minute)
			}
		}
	}
	return times
}
