! What f2py wraps: a module's arrays, and arguments of each intent.
module for_f2py
  implicit none
  real(8), allocatable :: grid(:, :, :)
  real(8) :: fixed(-1:3, 0:4) = 0
  logical :: flags(3) = [.true., .false., .true.]
  complex(8) :: waves(2) = (1d0, 2d0)

contains

  subroutine make_grid(n)
    integer, intent(in) :: n
    if (allocated(grid)) deallocate (grid)
    allocate (grid(-2:n + 3, 0:4, n))
    grid = 5
  end subroutine

  subroutine twice(x)
    real(8), intent(inout) :: x(:, :)
    x = 2 * x
  end subroutine

  subroutine twice_single(x)
    real(4), intent(inout) :: x(:, :)
    x = 2 * x
  end subroutine

  subroutine next(x)
    real(8) :: x(:, :)
    !f2py intent(in, out) :: x
    x = x + 1
  end subroutine

  subroutine rows(n, lda, m, x)
    integer, intent(in) :: n, lda, m
    real(8), intent(inout) :: x(lda, m)
    x(1:n, :) = x(1:n, :) + 1
  end subroutine

end module
