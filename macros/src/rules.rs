//! The table of rules: every mistake the macro can name, with the name of its fixture in `ui-tests/fail`.
//! Self-contained, because `ui-tests` includes this file to find rules without a fixture.

macro_rules! rules {
    ($($(#[doc = $doc:literal])* $rule:ident => $id:literal,)*) => {
        /// One rule that a handler can break.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Rule { $($(#[doc = $doc])* $rule,)* }

        #[cfg(test)]
        impl Rule {
            /// Every rule, in the order of the table.
            pub(crate) const ALL: &'static [Rule] = &[$(Rule::$rule),*];

            /// The id of the rule, which is the name of its fixture.
            pub(crate) const fn id(self) -> &'static str {
                match self { $(Rule::$rule => $id),* }
            }
        }
    };
}

rules! {
    // args.rs: `#[ffi_handler(..)]`
    /// A key that `#[ffi_handler]` does not have.
    ArgumentUnknown => "argument-unknown",
    /// A key given twice.
    ArgumentTwice => "argument-twice",
    /// A known key whose value has the wrong form.
    ArgumentForm => "argument-form",
    /// `batch` is not one of its values.
    BatchValue => "batch-value",
    /// `platform` is not one of its values.
    PlatformValue => "platform-value",
    /// `vjp` without `bwd`.
    VjpWithoutBwd => "vjp-without-bwd",

    // parse.rs: the item, its parameters and their markers
    /// The attribute is not on a function.
    NotAFunction => "not-a-function",
    /// The function takes `self`.
    Receiver => "receiver",
    /// A parameter is a pattern instead of a name.
    ParameterPattern => "parameter-pattern",
    /// `#[cfg]` or `#[cfg_attr]` on a parameter.
    ParameterCfg => "parameter-cfg",
    /// An attribute on a parameter that is no marker.
    MarkerUnknown => "marker-unknown",
    /// Two markers on one parameter.
    MarkerTwice => "marker-twice",
    /// A marker whose arguments have the wrong form.
    MarkerForm => "marker-form",
    /// A key that `#[attr]` does not have.
    AttrKeyUnknown => "attr-key-unknown",
    /// A key of `#[attr]` or `#[ffi_attr]` given twice.
    AttrKeyTwice => "attr-key-twice",

    // shape.rs: the expressions in `#[shape(..)]` and `require(..)`
    /// Tokens that are no expression at all.
    ShapeSyntax => "shape-syntax",
    /// `..` behind an axis.
    DotsNotFirst => "dots-not-first",
    /// A literal other than an integer, or a size below 0.
    ShapeLiteral => "shape-literal",
    /// A path with type arguments.
    ShapePath => "shape-path",
    /// A call of something other than `min(a, b)` and `max(a, b)`.
    ShapeCall => "shape-call",
    /// A method call.
    ShapeMethod => "shape-method",
    /// An operator that shapes do not have.
    ShapeOperator => "shape-operator",
    /// `if` without `else`.
    ShapeIfWithoutElse => "shape-if-without-else",
    /// A branch that is more than one expression.
    ShapeBranch => "shape-branch",
    /// Any other expression.
    ShapeExpression => "shape-expression",

    // check.rs: the function's signature
    /// `async fn`.
    SignatureAsync => "signature-async",
    /// `unsafe fn`.
    SignatureUnsafe => "signature-unsafe",
    /// `extern fn`.
    SignatureExtern => "signature-extern",
    /// `...` as the last parameter.
    SignatureVariadic => "signature-variadic",
    /// `#[target_feature]`.
    SignatureTargetFeature => "signature-target-feature",
    /// A const generic parameter.
    SignatureConstGeneric => "signature-const-generic",
    /// `impl Trait` in a parameter.
    SignatureImplTrait => "signature-impl-trait",
    /// No buffer at all.
    NoBuffer => "no-buffer",
    /// More parameters than a call can have.
    TooManyParameters => "too-many-parameters",

    // check.rs: dtypes
    /// A type parameter that `dtypes` does not list.
    TypeWithoutDtypes => "type-without-dtypes",
    /// `dtypes` for something that is no type parameter.
    DtypesUnknownType => "dtypes-unknown-type",
    /// `dtypes` for one type parameter twice.
    DtypesTwice => "dtypes-twice",
    /// An empty list of dtypes.
    DtypesEmpty => "dtypes-empty",
    /// One dtype twice in a list.
    DtypeTwice => "dtype-twice",

    // check.rs: names, dims and shapes
    /// `batch = whole` and a shape without `..`.
    DotsMissing => "dots-missing",
    /// `..` in a shape of another batch mode.
    DotsOutsideWhole => "dots-outside-whole",
    /// A dim that no shape names alone.
    DimUnbound => "dim-unbound",
    /// `#[dim]` for a name that no shape has.
    DimUnknown => "dim-unknown",
    /// More dims and shape attributes than a call can have.
    TooManyDims => "too-many-dims",
    /// `require` with a name that is no dim and no attribute.
    RequireUnknownName => "require-unknown-name",
    /// An integer where a condition stands.
    IntegerAsCondition => "integer-as-condition",
    /// A condition where an integer stands.
    ConditionAsInteger => "condition-as-integer",
    /// A division by the literal zero.
    DivisionByZero => "division-by-zero",
    /// Two parameters that the caller would see under one name.
    NameTwice => "name-twice",
    /// A dim with the name of a buffer.
    DimIsABuffer => "dim-is-a-buffer",
    /// A target or wire name that XLA cannot carry.
    NameEmpty => "name-empty",
    /// A map of targets that does not have each dtype once.
    TargetPerDtype => "target-per-dtype",
    /// `threads` without a batch that threads share.
    ThreadsNotParallel => "threads-not-parallel",

    // check.rs: platforms
    /// A CUDA handler that does not say `command_buffer`.
    CommandBufferMissing => "command-buffer-missing",
    /// A CPU handler that says `command_buffer`.
    CommandBufferOnCpu => "command-buffer-on-cpu",
    /// A CUDA handler with `batch = parallel`.
    ParallelOnCuda => "parallel-on-cuda",

    // derive.rs: `#[derive(FfiAttr)]`
    /// The derive is not on an enum.
    FfiAttrNotAnEnum => "ffi-attr-not-an-enum",
    /// An enum without variants.
    FfiAttrEmpty => "ffi-attr-empty",
    /// A generic enum.
    FfiAttrGeneric => "ffi-attr-generic",
    /// A variant that holds values.
    FfiAttrFields => "ffi-attr-fields",
    /// A `repr` that XLA carries no scalar of.
    FfiAttrRepr => "ffi-attr-repr",
    /// Two variants that the caller would see under one name.
    FfiAttrNameTwice => "ffi-attr-name-twice",
    /// A key that `#[ffi_attr]` does not have, or one of the wrong form.
    FfiAttrForm => "ffi-attr-form",
}
