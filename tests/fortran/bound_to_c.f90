! Procedures that C can call: assumed-shape through CFI_cdesc_t, explicit-shape through a pointer, and arrays of Fortran's own.
module bound_to_c
  use, intrinsic :: iso_c_binding
  implicit none

  real(c_double), allocatable, target :: grid(:, :, :)
  logical(4), target :: mask(3) = [.true., .false., .true.]
  complex(c_double_complex), target :: waves(2) = [(1d0, 2d0), (3d0, 4d0)]
  type, bind(c) :: point
    real(c_double) :: x
    integer(c_int32_t) :: n
  end type
  type(point), target :: points(4)

  abstract interface
    subroutine visitor(a) bind(c)
      import :: c_double
      real(c_double), intent(inout) :: a(:, :)
    end subroutine
  end interface

contains

  ! Each element becomes 100 i + 10 j + k, counted from 1.
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

  ! Passed on to an argument that must be contiguous: the compiler copies in and out where it is not.
  subroutine seven(a) bind(c)
    real(c_double), intent(inout) :: a(:, :, :)
    call fill(a)
  contains
    subroutine fill(b)
      real(c_double), contiguous, intent(inout) :: b(:, :, :)
      b = 7
    end subroutine
  end subroutine

  subroutine scalar(a) bind(c)
    real(c_double), intent(inout) :: a(..)
    select rank (a)
    rank (0)
      a = a + 1
    rank default
      error stop "rank 0 expected"
    end select
  end subroutine

  subroutine negate(a) bind(c)
    logical(c_bool), intent(inout) :: a(:)
    a = .not. a
  end subroutine

  subroutine add_int32(a) bind(c)
    integer(c_int32_t), intent(inout) :: a(:)
    a = a + 1
  end subroutine

  subroutine add_int64(a) bind(c)
    integer(c_int64_t), intent(inout) :: a(:)
    a = a + 1
  end subroutine

  subroutine add_float(a) bind(c)
    real(c_float), intent(inout) :: a(:)
    a = a + 1
  end subroutine

  subroutine add_long_double(a) bind(c)
    real(c_long_double), intent(inout) :: a(:)
    a = a + 1
  end subroutine

  subroutine add_complex(a) bind(c)
    complex(c_float_complex), intent(inout) :: a(:)
    a = a + (0, 1)
  end subroutine

  ! The padded form: rows have lda elements of which n are used.
  subroutine rows(lda, ny, n, m, l, a) bind(c)
    integer(c_int), value :: lda, ny, n, m, l
    real(c_double), intent(inout) :: a(lda, ny, l)
    integer :: i, j, k
    do k = 1, l
      do j = 1, m
        do i = 1, n
          a(i, j, k) = 100 * i + 10 * j + k
        end do
      end do
    end do
  end subroutine

  ! The lower bounds come with a pointer; its own points begin at 1.
  subroutine at_one(a, lower, upper) bind(c)
    real(c_double), pointer, intent(in) :: a(:, :)
    integer(c_int64_t), intent(out) :: lower(2), upper(2)
    lower = lbound(a)
    upper = ubound(a)
    a(1, 1) = 11
  end subroutine

  ! ---- arrays of Fortran's ----

  subroutine make_grid(n) bind(c)
    integer(c_int), value :: n
    if (allocated(grid)) deallocate (grid)
    allocate (grid(-2:n + 3, 0:4, n))
    call number(grid)
  end subroutine

  subroutine drop_grid() bind(c)
    if (allocated(grid)) deallocate (grid)
  end subroutine

  subroutine where_grid(address, extents) bind(c)
    type(c_ptr), intent(out) :: address
    integer(c_int64_t), intent(out) :: extents(3)
    address = c_null_ptr
    extents = 0
    if (.not. allocated(grid)) return
    address = c_loc(grid)
    extents = shape(grid)
  end subroutine

  function grid_at(i, j, k) bind(c) result(value)
    integer(c_int), value :: i, j, k
    real(c_double) :: value
    value = grid(i, j, k)
  end function

  subroutine point_to_grid(p) bind(c)
    real(c_double), pointer, intent(out) :: p(:, :, :)
    p(lbound(grid, 1):, lbound(grid, 2):, lbound(grid, 3):) => grid
  end subroutine

  subroutine point_to_section(p) bind(c)
    real(c_double), pointer, intent(out) :: p(:, :)
    p => grid(:, 4:0:-2, 1)
  end subroutine

  subroutine allocate_vector(n, a) bind(c)
    integer(c_int), value :: n
    integer(c_int32_t), allocatable, intent(inout) :: a(:)
    integer :: i
    if (allocated(a)) deallocate (a)
    if (n >= 0) allocate (a(-1:n - 2), source=[(i, i = 1, n)])
  end subroutine

  subroutine point_to_mask(p) bind(c)
    logical(4), pointer, intent(out) :: p(:)
    p => mask
  end subroutine

  subroutine point_to_waves(p) bind(c)
    complex(c_double_complex), pointer, intent(out) :: p(:)
    p => waves
  end subroutine

  subroutine point_to_points(p) bind(c)
    type(point), pointer, intent(out) :: p(:)
    points%n = [1, 2, 3, 4]
    p => points
  end subroutine

  subroutine point_to_x(p) bind(c)
    real(c_double), pointer, intent(out) :: p(:)
    p => points%x
  end subroutine

  subroutine visit(callback) bind(c)
    procedure(visitor) :: callback
    real(c_double) :: a(0:3, 5)
    a = 1
    call callback(a(1:3, 1:5:2))
    if (abs(sum(a) - 34) > 1d-12) error stop "the callback's writes did not arrive"
  end subroutine

end module
