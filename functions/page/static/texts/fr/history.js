/** Texts of the views around history. */
export default {};
