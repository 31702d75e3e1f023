! What Fortran sees of an assumed-shape array; NAME and TYPE are filled in, once for each type.
subroutine copy_NAME(a, out) bind(c)
    use iso_c_binding
    implicit none
    TYPE, intent(in) :: a(:, :, :)
    TYPE, intent(out) :: out(size(a, 1), size(a, 2), *)
    integer :: k
    do k = 1, size(a, 3)
        out(:, :, k) = a(:, :, k)
    end do
end subroutine

subroutine put_NAME(a, i, j, k, value) bind(c)
    use iso_c_binding
    implicit none
    TYPE, intent(inout) :: a(0:, 0:, 0:)
    integer(c_int), value :: i, j, k
    TYPE, intent(in) :: value
    a(i, j, k) = value
end subroutine

! Without indices an array is a scalar, which passes by address.
subroutine copy_scalar_NAME(a, b) bind(c)
    use iso_c_binding
    implicit none
    TYPE, intent(in) :: a
    TYPE, intent(out) :: b
    b = a
end subroutine

function address_NAME(a) result(at) bind(c)
    use iso_c_binding
    implicit none
    TYPE, intent(in), target :: a(:, :, :)
    integer(c_intptr_t) :: at
    at = transfer(c_loc(a(1, 1, 1)), at)
end function

subroutine make_NAME(p, n) bind(c)
    use iso_c_binding
    implicit none
    TYPE, pointer, intent(out) :: p(:)
    integer(c_int), value :: n
    allocate (p(n))
end subroutine

subroutine unmake_NAME(p) bind(c)
    use iso_c_binding
    implicit none
    TYPE, pointer, intent(inout) :: p(:)
    deallocate (p)
end subroutine
