// SPDX-License-Identifier: MIT
// A program for CUDA's `new`: a world of objects with virtual functions, made and deleted by
// kernels. For Heapwood compile it with -include heapwood/malloc.hpp and
// -include heapwood/operator_new.hpp.
#include <cstdio>
#include <ctime>

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
// A shape that owns its parts.
struct Polygon : Shape {
  Square* parts[3];
  __device__ explicit Polygon(float s) {
    for (Square*& part : parts) part = new Square(s);
  }
  __device__ ~Polygon() override {
    for (Square* part : parts) delete part;
  }
  __device__ float area() const override {
    float sum = 0;
    for (const Square* part : parts) sum += part->area();
    return sum;
  }
};

__global__ void make(Shape** shapes, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i % 2 == 0) {
    shapes[i] = new Square(2);
  } else {
    shapes[i] = new Polygon(1);
  }
}
__global__ void sum_areas(Shape** shapes, unsigned n, float* sum) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, shapes[i]->area());
}
__global__ void remove(Shape** shapes, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) delete shapes[i];
}

int main() {
  constexpr unsigned n = 100000, blocks = (n + 127) / 128;
  if (cudaDeviceSetLimit(cudaLimitMallocHeapSize, 128 << 20) != cudaSuccess) return 1;
  Shape** shapes = nullptr;
  float* sum = nullptr;
  if (cudaMalloc(&shapes, n * sizeof(Shape*)) != cudaSuccess) return 1;
  if (cudaMallocManaged(&sum, sizeof(float)) != cudaSuccess) return 1;
  *sum = 0;
  const clock_t start = clock();
  make<<<blocks, 128>>>(shapes, n);
  sum_areas<<<blocks, 128>>>(shapes, n, sum);
  remove<<<blocks, 128>>>(shapes, n);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  const bool is_right = *sum == n / 2 * (4.0f + 3.0f);
  std::printf("shapes: %s, %.1f ms\n", is_right ? "right" : "WRONG",
              1e3 * static_cast<double>(clock() - start) / CLOCKS_PER_SEC);
  cudaFree(shapes);
  cudaFree(sum);
  return is_right ? 0 : 1;
}
