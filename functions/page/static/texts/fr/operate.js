/** Texts of the views around operate. */
export default {};
