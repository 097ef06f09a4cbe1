module halo
contains
  subroutine exchange(n)
    integer, intent(inout) :: n
    call where()   ! line 5
    n = n + 1
  end subroutine
end module

program app
  use halo
  integer :: n
  n = 1
  call exchange(n)
  call where()     ! line 15
  if (n /= 2) stop 1
end program
