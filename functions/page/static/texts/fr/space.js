/** Texts of the views around space. */
export default {};
