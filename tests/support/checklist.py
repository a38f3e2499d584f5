"""The lines of the security checklist, and which tests prove each: so that nobody removes a proof unnoticed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line in short, what of it belongs to what is not there yet, and its proofs (`file::test`, below `tests/`)."""

    words: str
    proofs: tuple[str, ...] = ()
    not_there_yet: str = ""


CHECKLIST = {
    1: Line(
        "One authorisation function for every route; identity from each request.",
        (
            "integration/test_security.py::test_1_only_health_and_the_exchange_of_a_code_are_open_to_anybody",
            "integration/test_security.py::test_1_without_a_token_that_is_known_no_route_answers",
            "integration/test_security.py::test_1_a_route_is_closed_to_who_has_every_permission_but_the_one_it_needs",
            "integration/test_security.py::test_1_no_route_about_a_space_answers_who_may_only_use_another_whether_it_is_there_or_not",
            "integration/test_security.py::test_1_each_request_is_who_its_own_token_says_whoever_asked_before",
            "integration/test_security.py::test_1_a_token_counts_in_the_one_header_alone",
            "integration/test_security.py::test_1_a_scheme_that_is_not_spelt_bearer_with_a_capital_is_none",
            "integration/test_security.py::test_1_two_authorization_headers_of_a_real_request_are_none",
            "unit/http/test_routing.py::test_a_request_whose_parts_disagree_is_no_route_and_the_store_is_not_asked",
            "unit/http/test_routing.py::test_the_handler_gets_what_access_was_checked_on",
            "unit/access/test_access.py::test_each_permission_must_be_granted_by_its_name",
            "unit/upkeep/test_job_lookup.py::test_what_a_caller_may_not_see_by_its_own_route_is_no_job_for_it_either",
            "unit/access/test_access.py::test_a_list_of_spaces_admits_these_and_no_other",
            "integration/test_handlers.py::test_a_token_for_one_space_cannot_reach_another_by_a_route_that_is_unknown",
            "template/test_triggers.py::test_a_function_is_sent_exactly_the_routes_that_its_code_declares",
            "integration/test_roles.py::test_every_route_is_called_in_a_story",
        ),
        not_there_yet="the routes of MCP",
    ),
    2: Line(
        "256 random bits, only SHA-256 stored, constant time on bytes, odd tokens are a 401.",
        (
            "integration/test_security.py::test_2_a_token_of_whatever_bytes_and_length_is_unknown_on_every_route_and_never_told_again",
            "integration/test_security.py::test_2_whatever_decides_about_a_token_compares_bytes_in_constant_time",
            "integration/test_security.py::test_2_nothing_in_the_bucket_holds_a_token_that_has_worked",
            "unit/access/test_page_codes.py::test_of_many_who_redeem_a_code_at_once_one_gets_the_token",
            "unit/access/test_page_codes.py::test_the_bucket_holds_neither_the_token_nor_the_code_before_and_after",
            "unit/access/test_tokens.py::test_a_token_has_256_random_bits_and_never_comes_twice",
            "unit/access/test_tokens.py::test_the_first_token_makes_the_registry_and_lets_its_agent_in",
            "unit/access/test_access.py::test_no_other_header_lets_in_or_makes_the_service_fail",
            "unit/access/test_access.py::test_a_very_long_token_is_refused_before_the_registry_is_read",
        ),
    ),
    3: Line(
        "The registry by compare-and-swap; revocation within 30 s.",
        (
            "integration/test_token_makers.py::test_10_tokens_made_at_once_by_two_clients_are_10_in_the_registry",
            "unit/access/test_tokens.py::test_an_admin_who_was_revoked_a_moment_ago_makes_no_new_token",
            "unit/access/test_registry.py::test_a_revocation_works_within_thirty_seconds",
            "unit/access/test_registry.py::test_a_registry_that_was_removed_lets_nobody_in_any_more",
            "unit/access/test_tokens.py::test_two_who_make_a_token_at_once_leave_two",
            "unit/access/test_tokens.py::test_a_damaged_registry_is_not_written_over",
            "unit/store/test_store_failures.py::test_a_store_that_ignores_conditions_is_never_written_to_unprotected",
        ),
    ),
    4: Line(
        "Fails closed: registry, permissions, dates; all spaces never by accident.",
        (
            "integration/test_security.py::test_4_a_registry_or_an_entry_that_can_not_be_read_closes_every_route",
            "integration/test_security.py::test_4_a_store_that_keeps_the_registry_to_itself_closes_every_route",
            "integration/test_security.py::test_4_a_registry_that_was_read_is_believed_no_longer_when_the_store_falls_silent",
            "integration/test_security.py::test_4_no_permission_that_is_known_means_none",
            "integration/test_security.py::test_4_a_list_of_what_can_be_no_space_lists_none",
            "unit/access/test_access.py::test_an_unreadable_registry_lets_no_token_in_but_the_bootstrap_key",
            "unit/access/test_access.py::test_an_entry_that_can_not_be_read_lets_nobody_in",
            "unit/access/test_registry.py::test_a_registry_that_became_unreadable_lets_nobody_in_although_it_was_read_before",
            "unit/access/test_tokens.py::test_a_token_that_can_not_be_one_is_refused_with_the_field",
            "unit/access/test_tokens.py::test_nobody_gives_what_it_has_not_itself",
            "unit/access/test_management.py::test_all_spaces_are_never_reached_by_accident",
            "unit/access/test_management.py::test_a_change_to_what_no_token_can_be_is_refused_with_the_field",
            "unit/access/test_tokens.py::test_an_entry_that_names_no_spaces_lets_nobody_in",
            "unit/access/test_access.py::test_a_token_expires_at_its_moment",
            "unit/access/test_registry.py::test_a_deleted_space_leaves_all_lists_so_that_a_later_namesake_is_not_inherited",
        ),
    ),
    5: Line(
        "A re-created space is not inherited.",
        (
            "unit/access/test_registry.py::test_a_deleted_space_leaves_all_lists_so_that_a_later_namesake_is_not_inherited",
            "unit/access/test_registry.py::test_a_deletion_that_died_before_it_changed_the_lists_leaves_nobody_the_next_space",
            "unit/spaces/test_isolation.py::test_a_token_that_may_not_see_a_space_learns_nothing_by_creating_it",
        ),
    ),
    6: Line(
        "With a weak bootstrap key only health is answered.",
        (
            "integration/test_security.py::test_6_with_a_weak_bootstrap_key_every_route_but_health_is_closed_also_to_good_tokens",
            "integration/test_security.py::test_6_what_opens_the_service_is_the_bootstrap_key_and_not_its_hash",
            "unit/test_settings.py::test_a_weak_bootstrap_key_is_a_problem_that_names_the_variable_and_not_the_value",
            "unit/access/test_access.py::test_with_a_weak_bootstrap_key_nobody_is_let_in_not_even_a_valid_token",
            "template/test_parameters.py::test_the_stack_is_given_the_hash_of_the_bootstrap_key_and_never_the_key",
        ),
    ),
    7: Line(
        "Sizes in bytes before parsing, limits at both ends, tags, names.",
        (
            "integration/test_bad_input.py::test_7_a_body_of_a_byte_too_many_is_refused_unread_on_every_route_in_whatever_coding",
            "integration/test_bad_input.py::test_7_a_body_of_the_most_bytes_is_read",
            "integration/test_bad_input.py::test_7_limits_are_kept_at_both_ends_of_every_list",
            "integration/test_bad_input.py::test_7_a_note_beyond_its_bounds_is_refused_alone_and_in_a_batch",
            "integration/test_bad_input.py::test_7_an_idempotency_key_is_short",
            "unit/http/test_bodies.py::test_a_body_of_too_many_values_is_refused_before_it_is_parsed",
            "unit/http/test_bodies.py::test_what_is_no_json_object_or_not_plainly_one_is_malformed",
            "unit/test_limits.py::test_a_text_of_exactly_the_limit_passes_and_one_byte_more_does_not",
            "integration/test_handlers.py::test_a_bad_space_is_refused_with_the_field",
            "integration/test_handlers.py::test_bad_rules_are_refused_with_the_field",
            "integration/test_handlers.py::test_a_reason_that_cannot_be_recorded_is_refused_and_leaves_the_space_free",
            "integration/test_handlers.py::test_a_batch_is_checked_whole_before_the_first_note_is_written",
            "integration/local/front/test_http_front.py::test_a_body_beyond_the_limit_is_refused_and_the_client_can_read_why",
        ),
    ),
    8: Line(
        "Every id and path is validated, on every route and from the LLM.",
        (
            "integration/test_bad_input.py::test_8_no_name_in_a_path_that_breaks_its_rule_makes_the_store_be_asked",
            "integration/test_bad_input.py::test_8_whatever_stands_in_a_path_no_key_outside_of_the_space_is_asked_for",
            "integration/test_bad_input.py::test_8_names_in_queries_and_bodies_are_held_to_the_same_rules",
            "integration/test_bad_input.py::test_8_what_names_a_moment_or_an_agent_leads_nowhere_else",
            "integration/test_bad_input.py::test_8_of_an_id_in_the_event_of_a_run_none_is_asked_for_that_can_be_no_id",
            "integration/test_bad_input.py::test_8_encoded_or_not_no_target_of_a_real_request_leads_out_of_its_space",
            "integration/test_bad_input.py::test_8_an_idempotency_key_of_whatever_characters_is_no_part_of_a_key",
            "unit/store/test_bucket.py::test_a_key_stays_below_its_space_and_is_of_one_kind",
            "unit/store/test_bucket.py::test_a_key_that_parses_is_built_from_what_it_says",
            "unit/store/test_key_building.py::test_a_hostile_name_passes_no_check",
            "unit/store/test_keys.py::test_a_name_is_taken_exactly_as_it_stands_or_refused",
            "unit/store/test_keys.py::test_no_space_can_be_one_of_the_services_own_folders",
            "unit/bank/test_paths.py::test_a_normalised_path_passes_the_check_and_normalising_it_again_changes_nothing",
            "unit/store/test_cursors.py::test_a_cursor_that_this_service_did_not_give_out_is_refused_or_harmless",
            "unit/spaces/test_isolation.py::test_a_copied_folder_is_a_broken_space_and_says_so_and_the_original_is_left_alone",
            "integration/test_handlers.py::test_keys_that_are_no_live_notes_are_ignored",
            *(
                f"unit/copies/test_hostile_archives.py::{name}"
                for name in (
                    "test_names_that_could_come_out_elsewhere_are_refused",
                    "test_only_files_and_folders_are_taken",
                    "test_too_many_members_are_not_read_to_their_end",
                    "test_a_bomb_is_stopped_soon_and_costs_little_memory",
                    "test_extended_headers_are_not_read_whatever_their_size",
                    "test_a_wrong_manifest_is_refused",
                    "test_names_that_break_the_rules_of_a_space_are_refused",
                    "test_what_is_too_large_for_its_kind_is_refused",
                )
            ),
            "unit/copies/test_provisioning.py::test_a_manifest_with_a_name_that_no_space_can_hold_is_refused_and_nothing_is_written",
        ),
    ),
    9: Line(
        "No exception text, path, key or secret in an answer or a log line.",
        (
            "integration/test_content.py::test_9_a_defect_on_any_route_is_told_without_its_text_in_the_answer_and_in_the_log",
            "integration/test_content.py::test_9_what_a_refused_note_holds_is_neither_answered_nor_logged",
            "integration/test_content.py::test_9_an_error_of_the_store_is_told_in_our_own_words",
            "template/test_security.py::test_9_the_access_log_holds_no_header_no_query_and_no_body",
            "integration/test_logs.py::test_at_debug_the_service_tells_all_and_no_library_tells_a_key_a_token_a_note_or_an_address",
            "integration/test_handlers.py::test_the_request_id_of_every_500_is_in_a_log_line",
            "unit/http/test_problems.py::test_what_the_client_did_wrong_is_not_logged",
            "integration/test_llm.py::test_each_failure_has_its_code_is_asked_once_and_tells_no_key_no_page_and_no_address",
            "integration/test_llm.py::test_the_providers_message_is_told_without_the_key",
            "unit/test_settings.py::test_no_value_is_told_whichever_variable_it_is",
            "unit/access/test_access.py::test_a_refusal_never_repeats_the_token",
        ),
    ),
    10: Line(
        "Notes are quoted data; the model only writes bank files of its space.",
        (
            "integration/test_content.py::test_10_whatever_the_model_answers_nothing_outside_the_bank_of_its_space_is_written",
            "integration/test_content.py::test_10_a_note_that_forges_the_prompt_is_one_quoted_value_and_leaves_the_bank_to_its_text",
            "unit/consolidation/test_prompt.py::test_every_value_reads_back_equal_from_one_line_whatever_it_holds",
            "unit/consolidation/test_prompt.py::test_no_value_adds_a_line_to_the_prompt_for_any_reader",
            "unit/consolidation/test_prompt.py::test_a_language_that_somebody_wrote_into_the_bucket_forges_no_line",
            "unit/consolidation/test_answers.py::test_a_broken_answer_ends_in_an_error_and_leaves_notes_and_bank_as_they_were",
            "unit/consolidation/test_planning.py::test_any_valid_answer_becomes_changes_that_may_be_written_or_is_refused",
            "unit/consolidation/test_planning.py::test_a_file_that_shrinks_by_more_than_half_needs_a_reason",
            "unit/changes/test_undo.py::test_an_undo_brings_back_bank_synthesis_and_notes_byte_for_byte",
            "unit/http/test_markdown.py::test_no_note_gets_out_of_its_item_however_it_ends_its_lines",
            "template/test_permissions.py::test_what_sends_notes_to_the_llm_knows_no_token_of_the_api",
        ),
    ),
    11: Line(
        "YAML is loaded safely, and nobody breaks out of the front matter.",
        (
            "integration/test_content.py::test_11_what_a_note_holds_stays_its_text_whatever_yaml_it_looks_like",
            "integration/test_content.py::test_11_yaml_in_the_bucket_that_would_run_something_is_read_as_text",
            "unit/notes/test_note_format.py::test_a_note_round_trips_byte_for_byte",
            "unit/notes/test_note_format.py::test_no_tag_breaks_out_of_its_line_of_the_front_matter",
            "unit/notes/test_note_format.py::test_a_malformed_note_is_read_whole_with_what_its_name_tells",
            "unit/markdown/test_front_matter.py::test_what_is_beyond_the_bounds_is_never_built",
            "unit/markdown/test_front_matter.py::test_any_text_is_front_matter_or_a_value_error",
        ),
    ),
    12: Line(
        "Web: no CORS by default; the page runs its own files alone, and no text of a note.",
        (
            "integration/test_content.py::test_12_no_page_of_another_origin_is_let_in_by_any_route",
            "template/test_security.py::test_12_the_api_lets_no_page_of_another_origin_in",
            "template/test_permissions.py::test_what_serves_the_page_may_do_nothing_but_log",
            "unit/http/test_site.py::test_every_answer_carries_the_policy",
            "unit/http/test_site.py::test_whatever_is_no_file_of_this_version_is_a_problem_document_that_no_cache_keeps",
            "unit/http/test_site.py::test_every_file_has_a_known_type_and_nothing_in_a_page_needs_what_the_policy_forbids",
            "e2e/page/test_serving.py::test_a_script_a_style_and_a_picture_that_do_not_come_from_the_service_are_refused_and_noticed",
            "e2e/page/test_views.py::test_hostile_notes_are_shown_and_do_nothing",
            "e2e/page/test_journeys.py::test_a_code_in_the_address_signs_in_once_and_leaves_the_address",
        ),
    ),
    13: Line(
        "AWS: roles, bucket, throttling, access logs, secrets, alarms.",
        (
            "template/test_security.py::test_13_the_bucket_is_encrypted_by_s3_whatever_a_client_says",
            "template/test_security.py::test_13_plain_http_is_refused_for_the_bucket_and_for_every_object",
            "template/test_security.py::test_13_there_is_one_bucket_and_nobody_else_is_given_a_part_in_it",
            "template/test_security.py::test_13_a_role_is_taken_by_lambda_and_the_schedule_alone",
            "template/test_security.py::test_13_no_role_may_change_who_may_do_what_or_the_bucket_itself",
            "template/test_security.py::test_13_a_function_is_called_by_the_own_api_bucket_and_schedule_alone",
            "template/test_security.py::test_13_throttling_can_be_set_but_not_switched_off",
            "template/test_security.py::test_13_no_secret_stands_in_the_template",
            "template/test_security.py::test_13_no_output_and_no_tag_tells_a_hidden_parameter",
            "integration/test_roles.py::test_no_function_asks_for_what_its_role_does_not_allow",
            "integration/test_roles.py::test_no_role_allows_what_its_function_can_do_without",
            "integration/test_roles.py::test_no_role_may_touch_a_kind_of_object_that_its_function_leaves_alone",
            "template/test_permissions.py::test_each_function_has_a_role_of_its_own",
            "template/test_permissions.py::test_no_statement_allows_all_actions_or_all_resources",
            "template/test_permissions.py::test_only_what_has_to_may_touch_a_key",
            "template/test_permissions.py::test_only_what_asks_a_model_and_health_may_read_its_key_and_they_decrypt_nothing_else",
            "template/test_permissions.py::test_the_bucket_is_encrypted_private_versioned_and_kept",
            "template/test_permissions.py::test_the_bucket_refuses_plain_http",
            "template/test_triggers.py::test_the_api_is_throttled_and_logs_each_request",
            "template/test_functions.py::test_only_what_asks_the_llm_is_told_where_its_key_lies_and_never_the_key",
            "template/test_functions.py::test_only_what_asks_the_embedding_model_is_told_where_its_key_lies_and_never_the_key",
            "template/test_functions.py::test_only_what_answers_http_has_the_hash_of_the_bootstrap_key_and_nothing_has_the_key",
            "template/test_monitoring.py::test_an_error_of_any_function_raises_an_alarm",
            "template/test_monitoring.py::test_throttles_raise_an_alarm_but_not_where_the_reserved_concurrency_makes_events_wait",
            "template/test_monitoring.py::test_an_event_in_the_failure_queue_raises_an_alarm",
            "template/test_monitoring.py::test_a_note_that_waits_too_long_raises_an_alarm_and_so_does_a_sweep_that_is_silent",
        ),
    ),
    14: Line(
        "Presigned URLs live 15 minutes and name one object.",
        (
            "integration/test_archive_routes.py::test_14_the_url_of_an_archive_names_that_archive_alone_and_works_for_15_minutes",
            "integration/test_archive_routes.py::test_14_the_url_of_an_upload_names_that_upload_alone_and_works_for_15_minutes",
            "integration/test_archive_routes.py::test_14_the_url_of_an_upload_takes_the_size_that_was_told_and_no_other",
            "integration/stores/test_wire.py::test_a_presigned_url_of_an_upload_takes_the_size_that_was_signed_and_no_other",
            "unit/local/store/test_addresses.py::test_an_address_is_good_until_its_time_is_over",
            "unit/local/store/test_addresses.py::test_nobody_can_change_an_address_or_make_one",
            "integration/test_archive_routes.py::test_14_no_archive_holds_a_token_or_the_bootstrap_key",
        ),
    ),
    15: Line(
        "Dependencies pinned with hashes; audited.",
        (
            "template/test_locks.py::test_every_direct_requirement_is_exact_and_locked_at_that_version",
            "template/test_locks.py::test_every_locked_package_has_a_hash",
            "template/test_locks.py::test_tests_run_with_the_versions_that_lambda_runs_with",
            "template/test_locks.py::test_every_lock_is_made_set_up_and_audited_from_one_list",
            "unit/scripts/test_audit.py::test_what_the_database_knows_nothing_of_is_not_clean",
        ),
    ),
    16: Line(
        "A question of a token that may only read leaves nothing that others see, in its own name alone.",
        (
            "integration/test_question_routes.py::test_a_question_with_read_alone_leaves_nothing_that_others_see",
            "integration/test_question_routes.py::test_with_read_alone_nobody_asks_as_another_user_or_in_another_users_session",
            "integration/test_question_routes.py::test_a_failed_question_of_a_token_that_may_write_is_not_gone_on_with_by_its_namesake_that_may_only_read",
            "integration/test_question_routes.py::test_with_read_alone_no_tool_is_offered_that_changes_a_memory",
            "unit/mcp/test_core.py::test_a_question_of_a_token_that_only_reads_is_in_no_conversation_and_there_for_no_other_agent",
            "unit/upkeep/test_job_lookup.py::test_a_private_question_is_a_job_for_its_author_alone",
        ),
    ),
    17: Line(
        "A space's documents have bounds, imported or in the bucket, and no space takes the sweep from the others.",
        (
            *(
                f"unit/copies/test_hostile_documents.py::{name}"
                for name in (
                    "test_there_is_a_document_of_every_kind_and_all_of_them_are_taken",
                    "test_no_number_of_any_document_may_be_absurd",
                    "test_no_document_of_any_kind_may_be_deep_or_crowded_or_large",
                    "test_a_hostile_document_is_refused_by_its_name_and_its_field_and_nothing_lands",
                    "test_a_document_under_the_name_of_another_is_refused",
                    "test_a_turn_behind_turns_that_are_not_there_is_refused",
                    "test_what_a_document_says_is_not_repeated_where_it_is_refused",
                )
            ),
            "unit/conversations/test_absurd_documents.py::test_children_without_end",
            "unit/conversations/test_absurd_documents.py::test_a_block_without_end",
            "unit/conversations/test_absurd_documents.py::test_a_turn_behind_turns_that_are_not_there",
            *(
                f"unit/upkeep/test_sweep_shares.py::{name}"
                for name in (
                    "test_a_space_with_work_without_end_gets_its_share_and_the_others_are_looked_after",
                    "test_a_space_that_fails_in_whatever_way_is_named_and_the_others_are_looked_after",
                    "test_a_sweep_that_a_space_kills_is_gone_on_with_behind_it_by_the_next_one",
                    "test_versions_are_listed_and_not_counted_however_many_were_given",
                    "test_absurd_versions_in_the_bucket_cost_their_space_and_no_other_one_request_after_another",
                )
            ),
        ),
    ),
    18: Line(
        "What a day used is kept as totals; budgets hold for calls at once, and the brake fails nothing.",
        (
            "unit/llm/test_counting_calls.py::test_counts_that_no_provider_can_mean_are_cut_to_what_it_can",
            *(
                f"unit/upkeep/test_usage_report.py::{name}"
                for name in (
                    "test_ten_thousand_runs_of_a_day_stop_neither_runs_nor_reports",
                    "test_what_a_budget_costs_does_not_grow_with_runs",
                    "test_forty_calls_at_once_use_no_more_than_the_budget_and_one_call",
                    "test_whatever_the_order_of_their_requests_calls_of_many_spaces_use_no_more_than_the_budget_and_one_call",
                    "test_a_call_counts_once_wherever_its_worker_dies_or_the_answer_to_a_write_is_lost",
                    "test_what_a_dead_worker_has_reserved_is_there_again_when_its_time_is_over",
                    "test_the_brake_lets_a_call_pass_where_the_store_does_not_tell_what_was_used",
                    "test_a_run_that_came_with_an_import_counts_nothing_where_it_came_to",
                )
            ),
        ),
    ),
    19: Line(
        "What is packed is bounded before it is unpacked, and no vectors are imported.",
        (
            "unit/store/test_vector_file.py::test_no_header_is_believed_and_none_costs_memory",
            "unit/copies/test_hostile_documents.py::test_vectors_of_an_archive_are_left_behind_whatever_they_are",
            "unit/copies/test_hostile_archives.py::test_a_bomb_is_stopped_soon_and_costs_little_memory",
            "unit/copies/test_hostile_archives.py::test_a_bomb_in_a_member_is_stopped_too",
            "unit/search/test_snapshot_sizes.py::test_a_snapshot_of_whatever_size_is_not_fetched_beyond_the_bound",
        ),
    ),
    20: Line(
        "A space that can't be searched stops no search over several.",
        (
            "integration/test_search.py::test_a_space_that_can_not_be_searched_is_named_and_the_others_answer",
            "unit/cli/test_commands.py::test_a_search_names_the_spaces_that_could_not_be_searched",
        ),
    ),
    21: Line(
        "Caps per token and per space, and requests a second; 429 with the setting's name and Retry-After.",
        (
            "integration/test_archive_routes.py::test_21_what_is_above_a_cap_is_a_429_that_names_the_setting_and_when_to_come_again",
            "integration/test_request_rate.py::test_21_who_asks_too_fast_is_refused_on_every_way_in_and_others_are_answered",
            *(
                f"unit/access/test_request_rate.py::{name}"
                for name in (
                    "test_a_flood_has_the_rate_of_its_space_or_less_than_twice_that_however_many_processes_it_reaches",
                    "test_a_flood_of_many_tokens_has_the_rate_of_one_space",
                    "test_a_token_that_asks_about_ever_other_spaces_has_the_rate_of_one_token",
                    "test_others_lose_nothing",
                )
            ),
            *(
                f"unit/spaces/test_caps.py::{name}"
                for name in (
                    "test_a_token_makes_so_many_spaces_a_day_and_is_told_which_setting_says_so_and_when_it_may_go_on",
                    "test_of_forty_at_once_in_forty_processes_as_many_make_a_space_as_may",
                    "test_a_token_that_was_rotated_gets_no_new_places",
                    "test_backups_and_archives_of_a_space_have_their_caps_but_asking_again_for_one_is_free",
                    "test_uploads_have_a_cap_and_a_size",
                    "test_one_token_asks_as_so_many_users_at_once_and_no_more",
                )
            ),
        ),
    ),
    22: Line(
        "A token's end binds what it makes and changes; revoking it ends what it made; a rotated one manages nothing.",
        (
            "integration/test_token_routes.py::test_what_a_stolen_admin_token_made_ends_with_it_and_is_told",
            "integration/test_token_routes.py::test_a_rotation_without_grace_whose_answer_was_lost_is_repeated_and_nothing_else_opens",
            *(
                f"unit/access/test_lineage.py::{name}"
                for name in (
                    "test_what_a_token_makes_ends_with_it_unless_an_earlier_end_is_asked_for",
                    "test_a_token_that_ends_prolongs_neither_itself_nor_another",
                    "test_a_token_that_ends_gives_nothing_to_one_that_outlasts_it",
                    "test_revoking_a_token_ends_all_that_came_from_it_and_tells_what",
                    "test_a_token_that_is_being_made_while_its_maker_is_revoked_is_not_made",
                    "test_a_token_that_is_made_while_its_maker_is_being_revoked_ends_with_it",
                    "test_a_rotated_token_manages_nothing_in_its_grace_time",
                    "test_whatever_happens_in_between_the_end_of_a_token_is_the_end_of_all_that_came_from_it",
                )
            ),
            "unit/access/test_rotation.py::test_no_other_key_opens_the_rotation_of_a_token_that_has_ended",
        ),
    ),
    23: Line(
        "A client's document is fetched from a public server of its name alone, within bounds, and believed an hour.",
        (
            *(
                f"unit/outbound/test_public_address.py::{name}"
                for name in (
                    "test_a_stranger_is_not_let_near",
                    "test_nothing_is_public_that_python_calls_private",
                )
            ),
            *(
                f"unit/outbound/test_public_fetch.py::{name}"
                for name in (
                    "test_a_document_is_fetched_from_the_address_that_was_resolved",
                    "test_a_name_that_means_another_address_a_moment_later_is_resolved_once",
                    "test_nothing_is_sent_to",
                    "test_a_number_that_the_system_reads_as_an_address_is_checked_as_that_address",
                    "test_a_server_without_a_certificate_for_the_name_gets_no_request",
                    "test_an_answer_that_is_no_document_is_an_honest_refusal",
                    "test_of_an_answer_without_end_hardly_anything_is_read",
                    "test_headers_without_end_are_not_read_to_their_end",
                    "test_beginnings_of_answers_without_end_are_not_read_to_their_end",
                    "test_a_server_that_says_nothing_is_given_up",
                    "test_a_server_that_never_begins_tls_is_given_up",
                    "test_a_server_that_sends_a_byte_at_a_time_is_given_up_when_the_time_for_all_is_over",
                    "test_a_resolver_that_hangs_is_given_up",
                    "test_nobody_is_asked_for",
                    "test_no_proxy_of_the_environment_is_used",
                )
            ),
            *(
                f"unit/signin/test_client_documents.py::{name}"
                for name in (
                    "test_a_document_that_can_not_be_used_is_an_honest_refusal_and_nothing_is_kept",
                    "test_no_client_has_an_id_with",
                    "test_no_document_is_believed_for_more_than_an_hour",
                    "test_a_flood_of_documents_fetches_a_few_a_second_and_fills_a_fixed_number_of_places",
                    "test_two_clients_of_one_place_are_not_mixed_up",
                    "test_a_document_in_the_bucket_is_checked_again_and_replaced_where_it_makes_no_sense",
                    "test_nobody_is_redirected_to_an_address_that_only_another_clients_document_names",
                    "test_a_client_can_not_say_that_it_is_another_ones_document",
                    "test_a_name_or_a_host_that_looks_like_another_is_shown_as_what_it_is",
                )
            ),
        ),
    ),
    24: Line(
        "An outside provider is believed only where it certainly says, to us and now, who a person in this browser is.",
        (
            *(
                f"unit/signin/test_provider.py::{name}"
                for name in (
                    "test_nobody_signs_in_with_a_token",
                    "test_a_shared_secret_does_not_count_even_where_the_provider_publishes_it",
                    "test_a_code_of_another_sign_in_is_of_no_use",
                    "test_a_code_that_comes_twice_is_of_no_use",
                    "test_the_answer_of_another_provider_is_not_taken_to_this_one",
                    "test_a_provider_is_not_believed_that_publishes",
                    "test_no_token_belongs_to_an_address",
                    "test_the_kelvin_sign_is_no_k",
                    "test_an_address_and_its_proof_come_from_one_place",
                    "test_a_thin_token_is_filled_up_for_the_same_person_alone",
                    "test_tokens_that_have_ended_or_may_not_do_it_are_not_offered",
                    "test_nothing_of_the_person_or_of_the_way_is_in_the_bucket",
                )
            ),
            *(
                f"unit/http/test_outside.py::{name}"
                for name in (
                    "test_nobody_is_led_to_the_provider_but_by_the_button_of_the_page",
                    "test_who_begins_a_sign_in_can_not_have_another_person_finish_it",
                    "test_a_code_of_another_person_is_not_taken_into_ones_own_sign_in",
                    "test_a_return_counts_once",
                    "test_a_return_that_is_none_is_told_on_the_page_of_sign_in",
                    "test_a_cookie_that_is_none_leads_nowhere",
                    "test_a_cookie_that_was_changed_is_checked_as_any_request",
                    "test_a_person_without_a_token_is_told_who_they_are",
                )
            ),
            "template/test_functions.py::test_only_sign_in_knows_an_outside_provider_and_where_its_secret_lies",
        ),
    ),
    25: Line(
        "Nobody is sent to a client, and no client gets anything, without a choice of a person in that very browser.",
        (
            *(
                f"unit/http/test_oauth.py::{name}"
                for name in (
                    "test_nobody_is_sent_to_an_address_that_is_not_the_clients",
                    "test_a_request_with_an_error_leads_back_only_if_the_person_wants_to",
                    "test_a_parameter_that_comes_twice_is_refused",
                    "test_a_form_counts_only_in_the_browser_that_it_was_made_for",
                    "test_a_shown_token_is_of_use_in_no_other_browser",
                    "test_a_shown_token_counts_for_ten_minutes",
                    "test_nobody_chooses_more_than_was_asked_for_or_than_the_token_may",
                    "test_no_page_can_be_framed_run_or_kept",
                    "test_a_client_on_ones_own_machine_is_warned_of",
                    "test_the_cookie_is_of_no_use_to_scripts_or_other_hosts",
                    "test_five_wrong_tokens_end_a_request",
                    "test_twenty_wrong_tokens_an_hour_end_an_address",
                    "test_behind_a_proxy_nobody_locks_out_all_others",
                    "test_registrations_leave_nothing_in_the_bucket",
                    "test_no_body_makes_the_service_fail",
                )
            ),
            "unit/signin/test_exchange.py::test_nobody_is_redirected_to",
            "unit/signin/test_exchange.py::test_no_client_registers",
            "unit/signin/test_exchange.py::test_a_request_is_refused_for",
            "unit/signin/test_exchange.py::test_the_bootstrap_key_signs_nobody_in",
            "unit/signin/test_attacks.py::test_each_way_back_to_a_client_names_the_service",
            "unit/signin/test_attacks.py::test_a_flood_of_sign_ins_leaves_a_bounded_number_of_objects_that_the_sweep_removes",
            "e2e/page/test_consent.py::test_no_other_page_can_frame_it_or_send_its_form",
        ),
    ),
    26: Line(
        "A client's token opens /mcp alone, never more than its person's token, and ends with it; a replay ends it.",
        (
            *(
                f"unit/mcp/test_connections.py::{name}"
                for name in (
                    "test_with_a_token_that_is_none_it_is_told_so",
                    "test_from_outside_an_access_token_opens_mcp_alone",
                    "test_even_from_within_nobody_gets_a_token_by_a_connection",
                    "test_a_tool_that_no_client_can_be_allowed_is_unknown",
                    "test_a_tool_that_needs_another_right_is_refused_by_the_status",
                    "test_a_connection_that_ends_during_a_call_ends_it_by_the_status",
                    "test_ending_the_token_ends_its_connections",
                    "test_a_grant_that_says_admin_is_none",
                    "test_without_an_issuer_nothing_is_told_and_nothing_opened",
                )
            ),
            *(
                f"unit/signin/test_exchange.py::{name}"
                for name in (
                    "test_a_code_that_comes_twice_makes_no_second_grant_and_ends_the_first",
                    "test_a_code_is_of_use_only_to_the_client_that_asked",
                    "test_a_code_lives_for_a_minute",
                    "test_a_refresh_token_from_before_ends_the_grant",
                    "test_a_guess_ends_no_grant",
                    "test_no_token_code_or_ticket_is_in_the_bucket",
                    "test_a_token_that_ends_takes_its_grants_with_it",
                )
            ),
            "unit/signin/test_attacks.py::test_whatever_decides_about_a_secret_compares_in_constant_time",
            "unit/signin/test_attacks.py::test_a_right_that_the_token_loses_is_lost_to_its_connections",
            "unit/signin/test_attacks.py::test_a_code_in_another_browsers_hands_makes_no_tokens_without_the_verifier",
            "unit/signin/test_connections_list.py::test_nobody_sees_or_ends_what_is_of_others",
            "unit/signin/test_connections_list.py::test_a_connection_cannot_end_or_list_connections",
            "unit/signin/test_connections_list.py::test_who_ends_a_connection_ends_its_tokens",
            "simulation/test_kills.py::test_an_action_that_is_killed_or_fails_at_any_request_keeps_what_is_promised",
            "simulation/test_pairs.py::test_two_actions_keep_what_is_promised_whatever_happens_between_them",
            "e2e/test_sign_in.py::test_no_token_code_or_ticket_is_in_the_logs",
        ),
    ),
}
