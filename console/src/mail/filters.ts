/** Filters of templates that the code editor does not know by itself. */
export const moreFilters = `
  remove_last number_of_words normalize_whitespace replace_last slugify squish to_integer
  date_to_long_string date_to_rfc822 date_to_string date_to_xmlschema find find_exp
  find_index find_index_exp has has_exp reject reject_exp sample where_exp
  array_to_sentence_string group_by group_by_exp pop push shift unshift base64_decode
  base64_encode cgi_escape hmac_sha256 inspect json jsonify raw sha256 uri_escape
  xml_escape
`
  .trim()
  .split(/\s+/);
