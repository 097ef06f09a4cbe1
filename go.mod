module github.com/mcchk/mcchk

go 1.26
