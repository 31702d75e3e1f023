! What f2py wraps: arguments of each intent, several kinds, and a module array that lives in Fortran.
module model
    implicit none
    real(8), allocatable :: state(:, :)
contains
    subroutine add_index(a, n, m)
        integer, intent(in) :: n, m
        real(8), intent(inout) :: a(n, m)
        integer :: i, j
        do j = 1, m
            do i = 1, n
                a(i, j) = a(i, j) + 100*i + j
            end do
        end do
    end subroutine

    subroutine double_single(a, n)
        integer, intent(in) :: n
        real(4), intent(inout) :: a(n)
        a = 2*a
    end subroutine

    subroutine count_up(a, n)
        integer, intent(in) :: n
        integer(4), intent(inout) :: a(n)
        a = a + 1
    end subroutine

    subroutine turn(a, n)
        integer, intent(in) :: n
        complex(8), intent(inout) :: a(n)
        a = a*(0d0, 1d0)
    end subroutine

    subroutine total(a, n, m, s)
        integer, intent(in) :: n, m
        real(8), intent(in) :: a(n, m)
        real(8), intent(out) :: s
        s = sum(a)
    end subroutine

    subroutine start(n, m)
        integer, intent(in) :: n, m
        if (allocated(state)) deallocate (state)
        allocate (state(-2:n + 3, m))
        state = 0
        state(1:n, :) = 1
    end subroutine

    subroutine corner(value)
        real(8), intent(out) :: value
        value = state(lbound(state, 1), 1)
    end subroutine
end module
