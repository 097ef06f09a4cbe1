program arrays
  integer :: from_one(4), from_zero(0:4), plane(2, -1:1)
  integer(1) :: byte
  from_one = 1
  from_zero = 2
  plane = 3
  byte = 4
  call where(from_one, from_zero, plane, byte)
end program
