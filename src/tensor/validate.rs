impl super::tensor::Tensor {}
