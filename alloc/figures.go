package alloc

import "slices"

// Shape is the size of each index, as asked for.
func (p *Plan) Shape() []int64 { return slices.Clone(p.shape) }

// Strides is how many bytes one step along each index is.
func (p *Plan) Strides() []int64 { return slices.Clone(p.strides) }

// PaddedShape is the shape with the padding at the end of its rows.
func (p *Plan) PaddedShape() []int64 { return slices.Clone(p.paddedShape) }

// AlignedIndex is the element that lies on the boundary.
func (p *Plan) AlignedIndex() []int64 { return slices.Clone(p.alignedIndex) }

// Layout is the rank of each index's stride; 0 is the largest.
func (p *Plan) Layout() []int32 { return slices.Clone(p.layout) }

// Dims names the indices.
func (p *Plan) Dims() []Dim { return slices.Clone(p.dims) }

// ItemSize is the bytes of one element.
func (p *Plan) ItemSize() int64 { return p.itemSize }

// ByteAlignment is the boundary, in bytes, that the element at AlignedIndex lies on.
func (p *Plan) ByteAlignment() int64 { return p.byteAlignment }

// Offset is the address of element 0 modulo ByteAlignment.
func (p *Plan) Offset() int64 { return p.offset }

// Size is the number of elements.
func (p *Plan) Size() int64 { return p.size }

// Bytes is what the elements alone take.
func (p *Plan) Bytes() int64 { return p.bytes }

// Span is what the elements and their padding take, in bytes.
func (p *Plan) Span() int64 { return p.span }

// AllocBytes is what a block for this plan reserves.
func (p *Plan) AllocBytes() int64 { return p.reserve }

// Device is where the memory is laid out for.
func (p *Plan) Device() Device { return p.device }

// DeviceID is the number of the GPU.
func (p *Plan) DeviceID() int { return p.deviceID }

// Memory is its kind.
func (p *Plan) Memory() Memory { return p.memory }
