! Pointers whose bounds come from the caller, and arrays that Fortran shows to a procedure of C.
module pointers
    use, intrinsic :: iso_c_binding
    implicit none
contains
    subroutine bounds_of(p, lower, upper) bind(c)
        real(c_double), pointer, intent(in) :: p(:, :)
        integer(c_int64_t), intent(out) :: lower(2), upper(2)
        lower = lbound(p)
        upper = ubound(p)
        p(1, 1) = 11
    end subroutine

    ! Each element becomes 100 i + 10 j + k.
    subroutine number(a) bind(c)
        real(c_double), intent(inout) :: a(:, :, :)
        integer :: i, j, k
        do k = 1, size(a, 3)
            do j = 1, size(a, 2)
                do i = 1, size(a, 1)
                    a(i, j, k) = 100 * i + 10 * j + k
                end do
            end do
        end do
    end subroutine

    ! Handed on to an argument that must be contiguous: the compiler copies in and out where it is not.
    subroutine seven(a) bind(c)
        real(c_double), intent(inout) :: a(:, :, :)
        call fill(a)
    contains
        subroutine fill(b)
            real(c_double), contiguous, intent(inout) :: b(:, :, :)
            b = 7
        end subroutine
    end subroutine

    subroutine increment(a) bind(c)
        real(c_double), intent(inout) :: a(..)
        select rank (a)
        rank (0)
            a = a + 1
        end select
    end subroutine
end module
