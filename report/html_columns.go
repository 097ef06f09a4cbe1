package report

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// columns is a table that is written as an object with a list for each field:
// in a large table the names of the fields would be most of the text.
type columns[T any] []T

// MarshalJSON names the fields as their tags do.
func (rows columns[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	row := reflect.TypeFor[T]()
	for i := range row.NumField() {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(row.Field(i).Tag.Get("json"))
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteString(":[")
		for k := range rows {
			if k > 0 {
				b.WriteByte(',')
			}
			value, err := json.Marshal(reflect.ValueOf(&rows[k]).Elem().Field(i).Interface())
			if err != nil {
				return nil, err
			}
			b.Write(value)
		}
		b.WriteByte(']')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
