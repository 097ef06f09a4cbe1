// The maps of the windows: which process touches which bytes.
