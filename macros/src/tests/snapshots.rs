//! What a handler expands to, for signatures that together show every form.

use expect_test::{Expect, expect};
use proc_macro2::TokenStream;
use quote::quote;

use crate::handler;

/// The expansion of a handler without mistakes, formatted.
fn check(arguments: TokenStream, item: TokenStream, expected: Expect) {
    let (tokens, errors) = handler(arguments, item);
    assert!(errors.is_empty(), "{tokens}");
    expected.assert_eq(&format(tokens));
}

fn format(tokens: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(tokens).unwrap())
}

#[test]
fn generic_with_a_rule_and_a_default() {
    check(
        quote! {
            dtypes(T = [f32, f64]), batch = parallel, threads = most::<T>(n, n / 2),
            vjp(fwd = rms_norm_fwd, bwd = crate::rules::rms_norm_bwd)
        },
        quote! {
            /// Root-mean-square normalisation
            ///
            ///  over the last axis.
            pub fn rms_norm<T: Float>(
                #[shape(n)] x: &[T],
                #[attr(default = 1e-5)] eps: f64,
                #[dim] n: usize,
                #[shape(n)] y: &mut [T],
            ) {
                body(x, eps, n, y)
            }
        },
        expect![[r#"
            /// Root-mean-square normalisation
            ///
            ///  over the last axis.
            pub fn rms_norm<T: Float>(x: &[T], eps: f64, n: usize, y: &mut [T]) {
                body(x, eps, n, y)
            }
            #[doc(hidden)]
            pub enum __ffi_rms_norm {}
            #[doc(hidden)]
            #[allow(clippy::question_mark)]
            const _: () = {
                use ::oxidax::private as __p;
                impl __p::Operation for __ffi_rms_norm {
                    type Platform = __p::Cpu;
                    const INFO: &'static __p::OpInfo = &__p::OpInfo {
                        name: "rms_norm",
                        module: __p::module_path!(),
                        doc: "Root-mean-square normalisation\n\n over the last axis.",
                        target: __p::None,
                        drop_in: false,
                        batch: __p::Batch::Parallel,
                        command_buffer: false,
                        dims: &["n"],
                        shape_attrs: &[],
                        vjp: __p::Some(__p::Vjp {
                            fwd: __p::Some(|| <__ffi_rms_norm_fwd as __p::Operation>::INFO),
                            bwd: || <crate::rules::__ffi_rms_norm_bwd as __p::Operation>::INFO,
                        }),
                        jvp: __p::None,
                    };
                    #[inline(always)]
                    fn shapes<__S: __p::Sink>(s: &mut __S, v: &[__S::V]) -> bool {
                        true && s.buffer(0, [__S::get(v, 0)]) && s.buffer(1, [__S::get(v, 0)])
                    }
                }
                impl<T: Float> __p::Kernel<(T,)> for __ffi_rms_norm {
                    const PARAMS: &'static [__p::Spec] = {
                        let __info = <Self as __p::Operation>::INFO;
                        &[
                            __p::buffer::<__p::Cpu, &[T]>("x", &[0], __info),
                            __p::attr::<
                                f64,
                            >(
                                "eps",
                                __p::Some(|| __p::json::<
                                    f64,
                                >({
                                    let d: f64 = 1e-5;
                                    d
                                })),
                            ),
                            __p::dim::<usize>("n"),
                            __p::buffer::<__p::Cpu, &mut [T]>("y", &[0], __info),
                        ]
                    };
                    const PLAN: __p::Plan = __p::plan(
                        <Self as __p::Kernel<(T,)>>::PARAMS,
                        <Self as __p::Operation>::INFO,
                    );
                    fn threads(dims: &[i64]) -> usize {
                        #[allow(unused_variables)]
                        let n = __p::from_dim::<usize>(dims[0]);
                        most::<T>(n, n / 2)
                    }
                    #[inline(always)]
                    fn run<'__f, __D: __p::Decoder<'__f>>(__d: __D) -> __p::Option<__p::Finish> {
                        let __plan = const { &<Self as __p::Kernel<(T,)>>::PLAN };
                        let __p::Some(__b0) = __d.buffer::<__p::Cpu, &[T]>(__plan, 0) else {
                            return __p::None
                        };
                        let __p::Some(__b1) = __d.buffer::<__p::Cpu, &mut [T]>(__plan, 3) else {
                            return __p::None
                        };
                        let mut __bufs = [__b0, __b1];
                        let __p::Some(__n0) = __d.dim(__plan, 0) else { return __p::None };
                        let __v: [i64; 1] = [__n0];
                        if !__d.admit::<Self, 2>(&mut __bufs, &__v) {
                            return __p::None;
                        }
                        let __p::Some(mut __p1) = __d.optional::<f64>(__plan, 1, "eps") else {
                            return __p::None
                        };
                        __p::Some(
                            __d
                                .each(
                                    __bufs,
                                    #[inline(always)]
                                    |[__b0, __b1]| __p::finish(
                                        rms_norm::<
                                            T,
                                        >(
                                            __b0.view::<__p::Cpu, &[T]>(),
                                            match &mut __p1 {
                                                __p::Some(s) => __p::lend::<f64>(s),
                                                __p::None => {
                                                    let d: f64 = 1e-5;
                                                    d
                                                }
                                            },
                                            __p::from_dim::<usize>(__v[0]),
                                            __b1.view::<__p::Cpu, &mut [T]>(),
                                        ),
                                    ),
                                ),
                        )
                    }
                }
                impl __p::Handler for __ffi_rms_norm {
                    const INSTANCES: &'static [__p::Instance] = &[
                        __p::instance::<Self, (f32,)>(),
                        __p::instance::<Self, (f64,)>(),
                    ];
                    #[inline(always)]
                    fn dispatch(cx: __p::Cx<'_>) -> __p::Returned {
                        const SELECT: &'static __p::Selector = &__p::select(
                            <__ffi_rms_norm as __p::Handler>::INSTANCES,
                        );
                        if cx.selects(SELECT, 0) {
                            return __p::run::<Self, (f32,)>(cx);
                        }
                        if cx.selects(SELECT, 1) {
                            return __p::run::<Self, (f64,)>(cx);
                        }
                        __p::no_instance::<Self>(cx)
                    }
                }
                __p::inventory::submit! {
                    __p::HandlerDef::of:: < __ffi_rms_norm > ()
                }
            };
        "#]],
    );
}

#[test]
fn shapes_with_attributes_and_conditions() {
    check(
        quote! {
            target = "lapack_dgeqrf", batch = whole,
            require(m >= n, "a must be tall"), require(!full || k % 2 == 0, "k must be even")
        },
        quote! {
            fn r#type<'a>(
                #[shape(.., m, n)] a: &'a [f64],
                #[attr(name = "keep")] full: bool,
                k: Option<i64>,
                #[shape(.., if full { m } else { min(m, n) }, 2 * n + 1)] q: &mut [f64],
                #[shape(..)] info: &mut [i32],
            ) -> Result<(), Error<'a>> {}
        },
        expect![[r#"
            fn r#type<'a>(
                a: &'a [f64],
                full: bool,
                k: Option<i64>,
                q: &mut [f64],
                info: &mut [i32],
            ) -> Result<(), Error<'a>> {}
            #[doc(hidden)]
            enum __ffi_type {}
            #[doc(hidden)]
            #[allow(clippy::question_mark)]
            const _: () = {
                use ::oxidax::private as __p;
                impl __p::Operation for __ffi_type {
                    type Platform = __p::Cpu;
                    const INFO: &'static __p::OpInfo = &__p::OpInfo {
                        name: "type",
                        module: __p::module_path!(),
                        doc: "",
                        target: __p::Some("lapack_dgeqrf"),
                        drop_in: false,
                        batch: __p::Batch::Whole,
                        command_buffer: false,
                        dims: &["m", "n"],
                        shape_attrs: &["keep", "k"],
                        vjp: __p::None,
                        jvp: __p::None,
                    };
                    #[inline(always)]
                    fn shapes<__S: __p::Sink>(s: &mut __S, v: &[__S::V]) -> bool {
                        true && s.buffer(0, [__S::get(v, 0), __S::get(v, 1)])
                            && s
                                .buffer(
                                    1,
                                    [
                                        __S::select(
                                            __S::get(v, 2),
                                            __S::get(v, 0),
                                            __S::min(__S::get(v, 0), __S::get(v, 1)),
                                        ),
                                        __S::add(__S::mul(__S::int(2), __S::get(v, 1)), __S::int(1)),
                                    ],
                                ) && s.buffer(2, [])
                            && s.require(__S::ge(__S::get(v, 0), __S::get(v, 1)), "a must be tall")
                            && s
                                .require(
                                    __S::or(
                                        __S::not(__S::get(v, 2)),
                                        __S::eq(__S::rem(__S::get(v, 3), __S::int(2)), __S::int(0)),
                                    ),
                                    "k must be even",
                                )
                    }
                }
                impl __p::Kernel<()> for __ffi_type {
                    const PARAMS: &'static [__p::Spec] = {
                        let __info = <Self as __p::Operation>::INFO;
                        &[
                            __p::buffer::<__p::Cpu, &'_ [f64]>("a", &[0, 1], __info),
                            __p::attr::<bool>("keep", __p::None),
                            __p::param::<Option<i64>>("k", __info),
                            __p::buffer::<__p::Cpu, &mut [f64]>("q", &[-1, -1], __info),
                            __p::buffer::<__p::Cpu, &mut [i32]>("info", &[], __info),
                        ]
                    };
                    const PLAN: __p::Plan = __p::plan(
                        <Self as __p::Kernel<()>>::PARAMS,
                        <Self as __p::Operation>::INFO,
                    );
                    #[inline(always)]
                    fn run<'__f, __D: __p::Decoder<'__f>>(__d: __D) -> __p::Option<__p::Finish> {
                        let __plan = const { &<Self as __p::Kernel<()>>::PLAN };
                        let __p::Some(__b0) = __d.buffer::<__p::Cpu, &'_ [f64]>(__plan, 0) else {
                            return __p::None
                        };
                        let __p::Some(__b1) = __d.buffer::<__p::Cpu, &mut [f64]>(__plan, 3) else {
                            return __p::None
                        };
                        let __p::Some(__b2) = __d.buffer::<__p::Cpu, &mut [i32]>(__plan, 4) else {
                            return __p::None
                        };
                        let mut __bufs = [__b0, __b1, __b2];
                        let __p::Some(mut __p1) = __d.param::<bool>(__plan, 1, "keep") else {
                            return __p::None
                        };
                        let __p::Some(mut __p2) = __d.param::<Option<i64>>(__plan, 2, "k") else {
                            return __p::None
                        };
                        let __p::Some(__n0) = __d.dim(__plan, 0) else { return __p::None };
                        let __p::Some(__n1) = __d.dim(__plan, 1) else { return __p::None };
                        let __v: [i64; 4] = [
                            __n0,
                            __n1,
                            __p::shape_attr::<bool>(__p::lend::<bool>(&mut __p1)),
                            __p::shape_attr::<Option<i64>>(__p::lend::<Option<i64>>(&mut __p2)),
                        ];
                        if !__d.admit::<Self, 3>(&mut __bufs, &__v) {
                            return __p::None;
                        }
                        __p::Some(
                            __d
                                .each(
                                    __bufs,
                                    #[inline(always)]
                                    |[__b0, __b1, __b2]| __p::finish(
                                        r#type(
                                            __b0.view::<__p::Cpu, &'_ [f64]>(),
                                            __p::lend::<bool>(&mut __p1),
                                            __p::lend::<Option<i64>>(&mut __p2),
                                            __b1.view::<__p::Cpu, &mut [f64]>(),
                                            __b2.view::<__p::Cpu, &mut [i32]>(),
                                        ),
                                    ),
                                ),
                        )
                    }
                }
                impl __p::Handler for __ffi_type {
                    const INSTANCES: &'static [__p::Instance] = &[__p::instance::<Self, ()>()];
                    #[inline(always)]
                    fn dispatch(cx: __p::Cx<'_>) -> __p::Returned {
                        __p::run::<Self, ()>(cx)
                    }
                }
                __p::inventory::submit! {
                    __p::HandlerDef::of:: < __ffi_type > ()
                }
            };
        "#]],
    );
}

#[test]
fn cuda_with_two_variables_and_lifetimes() {
    check(
        quote! {
            platform = cuda, command_buffer = true, dtypes(I = [i32], T = [f32, f64]), jvp = self::j, crate = crate::engine
        },
        quote! {
            #[cfg(feature = "cuda")]
            pub(crate) fn gather<'a, T: Element + 'a, I>(
                stream: Stream,
                #[shape(n)] x: DeviceSlice<'a, T>,
                #[shape(k)] at: DeviceSlice<'a, I>,
                #[shape(k)] y: DeviceSliceMut<'a, T>,
            ) where I: Index<'a> {}
        },
        expect![[r##"
            #[cfg(feature = "cuda")]
            pub(crate) fn gather<'a, T: Element + 'a, I>(
                stream: Stream,
                x: DeviceSlice<'a, T>,
                at: DeviceSlice<'a, I>,
                y: DeviceSliceMut<'a, T>,
            )
            where
                I: Index<'a>,
            {}
            #[doc(hidden)]
            pub(crate) enum __ffi_gather {}
            #[doc(hidden)]
            #[allow(clippy::question_mark)]
            const _: () = {
                use crate::engine::private as __p;
                impl __p::Operation for __ffi_gather {
                    type Platform = __p::Cuda;
                    const INFO: &'static __p::OpInfo = &__p::OpInfo {
                        name: "gather",
                        module: __p::module_path!(),
                        doc: "",
                        target: __p::None,
                        drop_in: false,
                        batch: __p::Batch::Each,
                        command_buffer: true,
                        dims: &["n", "k"],
                        shape_attrs: &[],
                        vjp: __p::None,
                        jvp: __p::Some(|| <self::__ffi_j as __p::Operation>::INFO),
                    };
                    #[inline(always)]
                    fn shapes<__S: __p::Sink>(s: &mut __S, v: &[__S::V]) -> bool {
                        true && s.buffer(0, [__S::get(v, 0)]) && s.buffer(1, [__S::get(v, 1)])
                            && s.buffer(2, [__S::get(v, 1)])
                    }
                }
                impl<T: Element, I> __p::Kernel<(T, I)> for __ffi_gather
                where
                    I: for<'a> Index<'a>,
                {
                    const PARAMS: &'static [__p::Spec] = {
                        let __info = <Self as __p::Operation>::INFO;
                        &[
                            __p::param::<Stream>("stream", __info),
                            __p::buffer::<__p::Cuda, DeviceSlice<'_, T>>("x", &[0], __info),
                            __p::buffer::<__p::Cuda, DeviceSlice<'_, I>>("at", &[1], __info),
                            __p::buffer::<__p::Cuda, DeviceSliceMut<'_, T>>("y", &[1], __info),
                        ]
                    };
                    const PLAN: __p::Plan = __p::plan(
                        <Self as __p::Kernel<(T, I)>>::PARAMS,
                        <Self as __p::Operation>::INFO,
                    );
                    #[inline(always)]
                    fn run<'__f, __D: __p::Decoder<'__f>>(__d: __D) -> __p::Option<__p::Finish> {
                        let __plan = const { &<Self as __p::Kernel<(T, I)>>::PLAN };
                        let __p::Some(__b0) = __d.buffer::<__p::Cuda, DeviceSlice<'_, T>>(__plan, 1)
                        else { return __p::None };
                        let __p::Some(__b1) = __d.buffer::<__p::Cuda, DeviceSlice<'_, I>>(__plan, 2)
                        else { return __p::None };
                        let __p::Some(__b2) = __d
                            .buffer::<__p::Cuda, DeviceSliceMut<'_, T>>(__plan, 3) else {
                            return __p::None
                        };
                        let mut __bufs = [__b0, __b1, __b2];
                        let __p::Some(__n0) = __d.dim(__plan, 0) else { return __p::None };
                        let __p::Some(__n1) = __d.dim(__plan, 1) else { return __p::None };
                        let __v: [i64; 2] = [__n0, __n1];
                        if !__d.admit::<Self, 3>(&mut __bufs, &__v) {
                            return __p::None;
                        }
                        let __p::Some(mut __p0) = __d.param::<Stream>(__plan, 0, "stream") else {
                            return __p::None
                        };
                        __p::Some(
                            __d
                                .each(
                                    __bufs,
                                    #[inline(always)]
                                    |[__b0, __b1, __b2]| __p::finish(
                                        gather::<
                                            T,
                                            I,
                                        >(
                                            __p::lend::<Stream>(&mut __p0),
                                            __b0.view::<__p::Cuda, DeviceSlice<'_, T>>(),
                                            __b1.view::<__p::Cuda, DeviceSlice<'_, I>>(),
                                            __b2.view::<__p::Cuda, DeviceSliceMut<'_, T>>(),
                                        ),
                                    ),
                                ),
                        )
                    }
                }
                impl __p::Handler for __ffi_gather {
                    const INSTANCES: &'static [__p::Instance] = &[
                        __p::instance::<Self, (f32, i32)>(),
                        __p::instance::<Self, (f64, i32)>(),
                    ];
                    #[inline(always)]
                    fn dispatch(cx: __p::Cx<'_>) -> __p::Returned {
                        const SELECT: &'static __p::Selector = &__p::select(
                            <__ffi_gather as __p::Handler>::INSTANCES,
                        );
                        if cx.selects(SELECT, 0) {
                            return __p::run::<Self, (f32, i32)>(cx);
                        }
                        if cx.selects(SELECT, 1) {
                            return __p::run::<Self, (f64, i32)>(cx);
                        }
                        __p::no_instance::<Self>(cx)
                    }
                }
                __p::inventory::submit! {
                    __p::HandlerDef::of:: < __ffi_gather > ()
                }
            };
        "##]],
    );
}

#[test]
fn rank_zero_and_nothing_else() {
    check(
        quote!(batch = none),
        quote!(
            fn answer(#[shape] y: &mut f32) {
                *y = 42.0
            }
        ),
        expect![[r#"
            fn answer(y: &mut f32) {
                *y = 42.0;
            }
            #[doc(hidden)]
            enum __ffi_answer {}
            #[doc(hidden)]
            #[allow(clippy::question_mark)]
            const _: () = {
                use ::oxidax::private as __p;
                impl __p::Operation for __ffi_answer {
                    type Platform = __p::Cpu;
                    const INFO: &'static __p::OpInfo = &__p::OpInfo {
                        name: "answer",
                        module: __p::module_path!(),
                        doc: "",
                        target: __p::None,
                        drop_in: false,
                        batch: __p::Batch::None,
                        command_buffer: false,
                        dims: &[],
                        shape_attrs: &[],
                        vjp: __p::None,
                        jvp: __p::None,
                    };
                    #[inline(always)]
                    fn shapes<__S: __p::Sink>(s: &mut __S, v: &[__S::V]) -> bool {
                        true && s.buffer(0, [])
                    }
                }
                impl __p::Kernel<()> for __ffi_answer {
                    const PARAMS: &'static [__p::Spec] = {
                        let __info = <Self as __p::Operation>::INFO;
                        &[__p::buffer::<__p::Cpu, &mut f32>("y", &[], __info)]
                    };
                    const PLAN: __p::Plan = __p::plan(
                        <Self as __p::Kernel<()>>::PARAMS,
                        <Self as __p::Operation>::INFO,
                    );
                    #[inline(always)]
                    fn run<'__f, __D: __p::Decoder<'__f>>(__d: __D) -> __p::Option<__p::Finish> {
                        let __plan = const { &<Self as __p::Kernel<()>>::PLAN };
                        let __p::Some(__b0) = __d.buffer::<__p::Cpu, &mut f32>(__plan, 0) else {
                            return __p::None
                        };
                        let mut __bufs = [__b0];
                        let __v: [i64; 0] = [];
                        if !__d.admit::<Self, 1>(&mut __bufs, &__v) {
                            return __p::None;
                        }
                        __p::Some(
                            __d
                                .each(
                                    __bufs,
                                    #[inline(always)]
                                    |[__b0]| __p::finish(answer(__b0.view::<__p::Cpu, &mut f32>())),
                                ),
                        )
                    }
                }
                impl __p::Handler for __ffi_answer {
                    const INSTANCES: &'static [__p::Instance] = &[__p::instance::<Self, ()>()];
                    #[inline(always)]
                    fn dispatch(cx: __p::Cx<'_>) -> __p::Returned {
                        __p::run::<Self, ()>(cx)
                    }
                }
                __p::inventory::submit! {
                    __p::HandlerDef::of:: < __ffi_answer > ()
                }
            };
        "#]],
    );
}

#[test]
fn a_doc_comment_from_a_macro_is_joined_by_the_compiler() {
    let item = quote! {
        /// First line.
        #[doc = include_str!("op.md")]
        fn f(#[shape] y: &mut f32) {}
    };
    let tokens = handler(TokenStream::new(), item).0.to_string();
    let expected = r#"doc : :: core :: concat ! ("First line." , "\n" , include_str ! ("op.md"))"#;
    assert!(tokens.contains(expected), "{tokens}");
}

#[test]
fn mistakes_leave_the_function_and_an_empty_operation() {
    let (tokens, errors) = handler(
        quote!(batch = wide, platform = tpu, crate = engine),
        quote! {
            /// Kept.
            pub fn f(#[shape(1.5)] #[allow(unused)] x: &[f32], #[workspace] y: &mut [f32]) {
                body()
            }
        },
    );
    assert_eq!(errors.len(), 4);
    expect![[r#"
        /// Kept.
        pub fn f(#[allow(unused)] x: &[f32], y: &mut [f32]) {
            body()
        }
        #[doc(hidden)]
        pub enum __ffi_f {}
        #[doc(hidden)]
        #[allow(clippy::question_mark)]
        const _: () = {
            use engine::private as __p;
            impl __p::Operation for __ffi_f {
                type Platform = __p::Cpu;
                const INFO: &'static __p::OpInfo = &__p::OpInfo {
                    name: "f",
                    module: __p::module_path!(),
                    doc: "Kept.",
                    target: __p::None,
                    drop_in: false,
                    batch: __p::Batch::Each,
                    command_buffer: false,
                    dims: &[],
                    shape_attrs: &[],
                    vjp: __p::None,
                    jvp: __p::None,
                };
                #[inline(always)]
                fn shapes<__S: __p::Sink>(s: &mut __S, v: &[__S::V]) -> bool {
                    true
                }
            }
        };
        ::core::compile_error! {
            "`batch` is `each`, `parallel`, `whole` or `none`"
        }
        ::core::compile_error! {
            "`platform` is `cpu` or `cuda`"
        }
        ::core::compile_error! {
            "a literal in a shape is an integer: pass other numbers as attributes"
        }
        ::core::compile_error! {
            "this is no marker of a parameter: the markers are `#[shape(..)]`, `#[dim]`, `#[scratch(..)]` and `#[attr(..)]`"
        }
    "#]]
    .assert_eq(&format(tokens));
}
