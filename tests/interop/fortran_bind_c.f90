! Procedures called through ISO_C_BINDING: explicit shape, assumed shape, and memory that Fortran hands out.
module procedures
    use iso_c_binding
    use iso_fortran_env, only: real32, real64, int32, int64
    implicit none
    real(real64), allocatable, target, save :: kept(:, :, :)
contains
    ! An explicit-shape array with a leading extent; a(1, 1) is the first element of the domain.
    subroutine fill_explicit(a, lda, low, n, m) bind(c)
        integer(c_int), value :: lda, low, n, m
        real(c_double), intent(inout) :: a(low:low + lda - 1, *)
        integer :: i, j
        do j = 1, m
            do i = 1, n
                a(i, j) = 100*i + j
            end do
        end do
    end subroutine

    subroutine fill_shape3(a, n1, n2, n3, ld1, ld2) bind(c)
        integer(c_int), value :: n1, n2, n3, ld1, ld2
        real(c_float), intent(inout) :: a(ld1, ld2, *)
        integer :: i, j, k
        do k = 1, n3
            do j = 1, n2
                do i = 1, n1
                    a(i, j, k) = 100*i + 10*j + k
                end do
            end do
        end do
    end subroutine

    subroutine fill_assumed(a) bind(c)
        real(c_double), intent(inout) :: a(:, :)
        integer :: i, j
        do j = 1, size(a, 2)
            do i = 1, size(a, 1)
                a(i, j) = 100*i + j
            end do
        end do
    end subroutine

    function total_assumed(a) result(s) bind(c)
        real(c_double), intent(in) :: a(:, :)
        real(c_double) :: s
        s = sum(a)
    end function

    subroutine double_real32(a) bind(c)
        real(real32), intent(inout) :: a(:)
        a = 2*a
    end subroutine

    subroutine double_int32(a) bind(c)
        integer(int32), intent(inout) :: a(:)
        a = 2*a
    end subroutine

    subroutine double_int64(a) bind(c)
        integer(int64), intent(inout) :: a(:)
        a = 2*a
    end subroutine

    subroutine double_int8(a) bind(c)
        integer(c_int8_t), intent(inout) :: a(:)
        a = 2_c_int8_t*a
    end subroutine

    subroutine double_complex64(a) bind(c)
        complex(c_float_complex), intent(inout) :: a(:)
        a = 2*a
    end subroutine

    subroutine double_complex128(a) bind(c)
        complex(c_double_complex), intent(inout) :: a(:)
        a = 2*a
    end subroutine

    subroutine double_long(a) bind(c)
        real(c_long_double), intent(inout) :: a(:)
        a = 2*a
    end subroutine

    subroutine invert_bool(a) bind(c)
        logical(c_bool), intent(inout) :: a(:)
        a = .not. a
    end subroutine

    subroutine invert_logical(a) bind(c)
        logical, intent(inout) :: a(:)
        a = .not. a
    end subroutine

    ! Memory of the module's: its address, or a pointer with the bounds of the declaration.
    function keep(n, m, l) result(at) bind(c)
        integer(c_int), value :: n, m, l
        type(c_ptr) :: at
        integer :: i, j, k
        if (allocated(kept)) deallocate (kept)
        allocate (kept(-2:n + 3, 0:m + 1, l))
        do k = 1, l
            do j = 0, m + 1
                do i = -2, n + 3
                    kept(i, j, k) = 10000*k + 100*j + i
                end do
            end do
        end do
        at = c_loc(kept)
    end function

    function kept_at(i, j, k) result(value) bind(c)
        integer(c_int), value :: i, j, k
        real(c_double) :: value
        value = kept(i, j, k)
    end function

    subroutine point(p) bind(c)
        real(c_double), pointer, intent(out) :: p(:, :, :)
        p(-2:, 0:, 1:) => kept
    end subroutine

    subroutine point_every_second(p) bind(c)
        real(c_double), pointer, intent(out) :: p(:, :)
        p => kept(::2, ubound(kept, 2):lbound(kept, 2):-1, 1)
    end subroutine

    subroutine point_nowhere(p) bind(c)
        real(c_double), pointer, intent(out) :: p(:, :)
        nullify (p)
    end subroutine

    subroutine make(p, n) bind(c)
        real(c_double), allocatable, intent(out) :: p(:)
        integer(c_int), value :: n
        allocate (p(-1:n))
        p = 7
    end subroutine

    subroutine unmake(p) bind(c)
        real(c_double), allocatable, intent(inout) :: p(:)
        deallocate (p)
    end subroutine

    subroutine point_quadruple(p) bind(c)
        real(16), pointer, intent(out) :: p(:)
        allocate (p(3))
    end subroutine

    ! Calls back with the descriptor of an assumed-shape argument.
    subroutine show(callback) bind(c)
        interface
            subroutine callback(a) bind(c)
                import :: c_double
                real(c_double), intent(inout) :: a(:, :)
            end subroutine
        end interface
        real(c_double) :: local(6, 4)
        local = 3
        call callback(local(2:6:2, :))
        if (any(local(4, :) /= 5)) error stop "what the callback wrote is not seen"
    end subroutine
end module
