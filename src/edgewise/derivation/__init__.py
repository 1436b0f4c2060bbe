"""Derivation: softmax(QKᵀ/√d)·V earned from "take an average", told rung by rung and proven claim by claim."""

__all__: list[str] = []
